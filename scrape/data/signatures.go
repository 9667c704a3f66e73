package data

import "context"

// SignatureQuery identifies a message to sign: exactly one of Message and Justification is set.
type SignatureQuery struct {
	Message       string // hex, with or without 0x
	Justification string // hex, with or without 0x

	SigningSubnetID        string // hex or cb58; empty: the subnet of the message's source chain
	QuorumPercentage       *int   // 0 to 100; nil: 67
	QuorumPercentageBuffer int    // 0 to 100; the sum with QuorumPercentage is at most 100
	PChainHeight           uint64 // height of the validator set; 0: the proposed height
}

// defaultQuorum is the service's default percentage.
const defaultQuorum = 67

type signedMessage struct {
	SignedMessage string `json:"signedMessage"`
}

// AggregateSignatures calls POST /v1/signatureAggregator/{network}/aggregateSignatures: the service collects the validators'
// signatures of a cross-chain message. AggregateSignatures returns the signed message in hex, or an error if there are too
// few signatures. The request is sent at most once.
func (c *Client) AggregateSignatures(ctx context.Context, network string, s SignatureQuery) (string, error) {
	q := newRequest(aggregateSignatures)
	q.network(network)
	q.want((s.Message == "") != (s.Justification == ""), "write exactly one of message and justification")
	q.want(s.Message == "" || hexBytes.MatchString(s.Message), "message: write bytes in hex, with or without 0x")
	q.want(s.Justification == "" || hexBytes.MatchString(s.Justification), "justification: write bytes in hex, with or without 0x")
	q.want(s.SigningSubnetID == "" || idOrHex.MatchString(s.SigningSubnetID), "signingSubnetId %s: write the ID of a subnet, in cb58 or hex", quote(s.SigningSubnetID))
	quorum, buffer, by := defaultQuorum, s.QuorumPercentageBuffer, " (the default)"
	if s.QuorumPercentage != nil {
		quorum, by = *s.QuorumPercentage, ""
	}
	q.want(quorum >= 0 && quorum <= 100, "quorumPercentage %d: write 0 to 100", quorum)
	q.want(buffer >= 0 && buffer <= 100, "quorumPercentageBuffer %d: write 0 to 100", buffer)
	q.want(quorum+buffer <= 100, "quorumPercentage %d%s and quorumPercentageBuffer %d add up to more than 100: reduce one of them", quorum, by, buffer)

	answer, err := post[signedMessage](ctx, c, q, struct {
		Message                string `json:"message,omitzero"`
		Justification          string `json:"justification,omitzero"`
		SigningSubnetID        string `json:"signingSubnetId,omitzero"`
		QuorumPercentage       *int   `json:"quorumPercentage,omitzero"`
		QuorumPercentageBuffer int    `json:"quorumPercentageBuffer,omitzero"`
		PChainHeight           uint64 `json:"pChainHeight,omitzero"`
	}(s))
	return answer.SignedMessage, err
}

// AggregatedSignatures calls GET /v1/signatureAggregator/{network}/aggregateSignatures/{txHash}. It returns the signed
// message, in hex, that a transaction of the P-Chain or the X-Chain sends to an L1.
func (c *Client) AggregatedSignatures(ctx context.Context, network, txHash string) (string, error) {
	q := newRequest(aggregatedSignatures)
	q.network(network)
	q.fill("txHash", txHash, "the ID of a transaction of the P- or X-Chain")
	answer, err := get[signedMessage](ctx, c, q)
	return answer.SignedMessage, err
}
