package simnet

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Messages between chains in the Data service, and signature aggregation.

// lane is a pair of chains. Account sends a message from one to the other at every beat.
type lane struct {
	from, to string
	every    beat
	since    time.Time // zero: from the start of the ledger
	until    time.Time // zero: for ever
}

// usualLanes are those of each network.
func usualLanes() []lane {
	return []lane{{from: "C", to: "examplel1", every: beat(10 * time.Minute)}, {from: "examplel1", to: "C", every: beat(25 * time.Minute)}}
}

// message is a message from one chain to another.
type message struct {
	n         int
	from, to  *chain
	lane      int64 // when its lane began, which tells lanes apart
	sent      time.Time
	delivered time.Time // zero until a relayer delivers it
}

// messages returns all messages sent by a time, indexed or not.
func (t *truth) messages(at time.Time) (list []message) {
	for _, l := range t.ledger.lanes {
		list = append(list, t.between(l, time.Time{}, t.mustChain(l.from).heads.at(at).time)...)
	}
	return list
}

// delivery returns when a message is delivered that is ready at this time.
func (t *truth) delivery(ready time.Time) time.Time {
	for _, s := range t.ledger.held {
		switch {
		case !s.covers(ready):
		case s.to.IsZero():
			return time.Time{}
		default:
			ready = s.to.Add(5 * time.Second)
		}
	}
	return ready
}

type icmTransaction struct {
	TxHash         string `json:"txHash"`
	Timestamp      int64  `json:"timestamp"`
	GasSpent       string `json:"gasSpent"`
	RewardRedeemer string `json:"rewardRedeemer,omitempty"`
	Deliverer      string `json:"delivererAddress,omitempty"`
}

type icmReceipt struct {
	Nonce         string `json:"receivedMessageNonce"`
	RewardAddress string `json:"relayerRewardAddress"`
}

type icmMessage struct {
	MessageID               string       `json:"messageId"`
	ContractAddress         string       `json:"icmContractAddress"`
	SourceBlockchainID      string       `json:"sourceBlockchainId"`
	DestinationBlockchainID string       `json:"destinationBlockchainId"`
	SourceEVMChainID        string       `json:"sourceEvmChainId"`
	DestinationEVMChainID   string       `json:"destinationEvmChainId"`
	MessageNonce            string       `json:"messageNonce"`
	From                    string       `json:"from"`
	To                      string       `json:"to"`
	Data                    string       `json:"data,omitempty"`
	MessageExecuted         bool         `json:"messageExecuted"`
	Receipts                []icmReceipt `json:"receipts"`
	ReceiptDelivered        bool         `json:"receiptDelivered"`
	RewardDetails           struct {
		Address  string `json:"address"`
		Name     string `json:"name"`
		Symbol   string `json:"symbol"`
		Decimals int    `json:"decimals"`
		ErcType  string `json:"ercType"`
		Price    *money `json:"price,omitempty"`
		Value    string `json:"value"`
	} `json:"rewardDetails"`
	Source      *icmTransaction `json:"sourceTransaction,omitempty"`
	Destination *icmTransaction `json:"destinationTransaction,omitempty"`
	Status      string          `json:"status"`
}

// status returns the indexed status of a message, empty if no block of it is indexed, and the time for sorting.
func (r *request) status(m message) (status string, at time.Time) {
	sent := !m.sent.After(r.newest(m.from, r.asOf).time)
	delivered := !m.delivered.IsZero() && !m.delivered.After(r.newest(m.to, r.asOf).time)
	switch {
	case sent && delivered:
		return "delivered", m.sent
	case sent:
		return "pending", m.sent
	case delivered:
		return "delivered_source_not_indexed", m.delivered
	}
	return "", time.Time{}
}

func (r *request) renderMessage(m message) (i icmMessage) {
	i.Status, _ = r.status(m)
	delivered := i.Status != "pending"
	i.MessageID = r.messageID(m)[2:]
	i.ContractAddress = Messenger
	i.SourceBlockchainID, i.SourceEVMChainID = m.from.id, u64(m.from.evmID)
	i.DestinationBlockchainID, i.DestinationEVMChainID = m.to.id, u64(m.to.evmID)
	i.MessageNonce = fmt.Sprint(m.n + 1)
	i.From, i.To = Account, Account
	i.MessageExecuted = delivered && !r.ledger.failing.covers(m.delivered)
	i.Receipts = []icmReceipt{}
	if m.n%3 == 2 {
		i.Receipts = append(i.Receipts, icmReceipt{fmt.Sprint(m.n), Relayer})
	}
	i.ReceiptDelivered = delivered && r.asOf.Sub(m.delivered) > time.Hour
	w := &i.RewardDetails
	w.Address, w.Name, w.Symbol, w.Decimals, w.ErcType, w.Value = "0x0000000000000000000000000000000000000000", "", "", 0, "ERC-20", "0"
	if m.n%4 == 0 {
		w.Address, w.Name, w.Symbol, w.Decimals, w.Value = r.newAddress("token"), "Example Token", "EXT", 18, "1000000000000000000"
		w.Price = r.worth(0.01, m.sent, "usd")
		i.Data = r.hex(64, "data", m.from.id, m.n)
	}
	if i.Status != "delivered_source_not_indexed" {
		i.Source = &icmTransaction{TxHash: r.hex(32, "sending", m.from.id, m.n), Timestamp: m.sent.Unix(), GasSpent: "151205000000000"}
	}
	if delivered {
		i.Destination = &icmTransaction{r.hex(32, "delivery", m.from.id, m.n), m.delivered.Unix(), fmt.Sprint(relayFee), Relayer, Relayer}
	}
	return i
}

func (r *request) icmMessages() (any, error) {
	size, address, ours := r.paging(10, 100), r.address(), r.ours()
	type known struct {
		message
		at time.Time
	}
	var list []known
	if ours && strings.EqualFold(address, Account) {
		for _, m := range r.messages(r.asOf) {
			if status, at := r.status(m); status != "" {
				list = append(list, known{m, at})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b known) int { return b.at.Compare(a.at) })
	body := struct {
		Messages []icmMessage `json:"messages"`
		Next     string       `json:"nextPageToken"`
	}{Messages: []icmMessage{}}
	list, body.Next = cut(r, list, size)
	for _, m := range list {
		body.Messages = append(body.Messages, r.renderMessage(m.message))
	}
	return body, nil
}

// icmMessage answers with one message.
func (r *request) icmMessage() (any, error) {
	for _, m := range r.messages(r.asOf) {
		if status, _ := r.status(m); status == "" {
			continue
		}
		if i := r.renderMessage(m); i.MessageID == r.values["messageId"] {
			return i, nil
		}
	}
	return nil, missing("Message %s not found", r.values["messageId"])
}

// aggregateSignatures collects the signatures of a subnet's validators for a message.
func (r *request) aggregateSignatures() (any, error) {
	p := struct {
		Message                string  `json:"message"`
		Justification          string  `json:"justification"`
		SigningSubnetID        string  `json:"signingSubnetId"`
		QuorumPercentage       float64 `json:"quorumPercentage"`
		QuorumPercentageBuffer float64 `json:"quorumPercentageBuffer"`
		PChainHeight           float64 `json:"pChainHeight"`
	}{QuorumPercentage: 67}
	if err := json.Unmarshal(r.body, &p); err != nil {
		return nil, failure{http.StatusBadRequest, "The body must be a JSON object with values of the documented types"}
	}
	if (p.Message == "") == (p.Justification == "") {
		r.reject("Exactly one of message and justification must be provided")
	}
	content, err := hex.DecodeString(strings.TrimPrefix(p.Message+p.Justification, "0x"))
	if err != nil {
		r.reject("message and justification must be hexadecimal")
	}
	r.percentage("quorumPercentage", p.QuorumPercentage)
	r.percentage("quorumPercentageBuffer", p.QuorumPercentageBuffer)
	if p.QuorumPercentage+p.QuorumPercentageBuffer > 100 {
		r.reject("quorumPercentage + quorumPercentageBuffer must be less than or equal to 100")
	}
	if p.PChainHeight > float64(r.newest(r.pChain(), r.now).height) {
		r.reject("pChainHeight must not be greater than the height of the P-Chain")
	}
	signers := r.sourceSubnet(content)
	if p.SigningSubnetID != "" {
		signers = r.subnetNamed(p.SigningSubnetID)
	}
	if signers == nil || !r.ours() {
		return nil, missing("Subnet %s not found", p.SigningSubnetID)
	}
	if len(r.wrong) > 0 {
		return nil, nil
	}
	return r.sign(signers, uint64(p.QuorumPercentage), content)
}

func (r *request) percentage(name string, value float64) {
	if value < 0 || value > 100 || value != float64(int(value)) {
		r.reject("%s must be an integer between 0 and 100", name)
	}
}

// sourceSubnet returns the subnet of the source chain in a message, which follows its version and network. For an unknown
// chain it is the primary network.
func (t *truth) sourceSubnet(message []byte) *subnet {
	const from, to = 6, 38
	for _, c := range t.chains {
		if id, err := parseCB58(c.id, 32); err == nil && len(message) >= to && string(id) == string(message[from:to]) {
			return c.subnet
		}
	}
	return t.primary
}

// subnetNamed returns a subnet by its ID in either spelling, or nil.
func (t *truth) subnetNamed(id string) *subnet {
	for _, s := range t.subnets {
		b, err := parseCB58(s.id, 32)
		if s.id == id || err == nil && hex.EncodeToString(b) == strings.ToLower(strings.TrimPrefix(id, "0x")) {
			return s
		}
	}
	return nil
}

// sign collects the signatures of all validators that count. Inactive L1 validators do not count.
func (r *request) sign(s *subnet, quorum uint64, content []byte) (any, error) {
	var whole, connected, signed uint64
	ask := func(m *member, weight uint64) {
		whole += weight
		if m.away.covers(r.now) {
			return
		}
		connected += weight
		if !r.ledger.mute[m] {
			signed += weight
		}
	}
	for _, v := range s.stakers {
		ask(v.member, v.total())
	}
	for _, v := range s.l1 {
		if v.active() {
			ask(v.member, v.weight)
		}
	}
	switch {
	case whole == 0 || 100*connected < quorum*whole:
		return nil, failure{http.StatusInternalServerError, "failed to connect to a threshold of stake"}
	case 100*signed < quorum*whole:
		text := fmt.Sprintf("signature weight is insufficient: %d*%d > 100*%d", quorum, whole, signed)
		return nil, failure{http.StatusInternalServerError, text}
	}
	return created{struct {
		SignedMessage string `json:"signedMessage"`
	}{hex.EncodeToString(content) + r.hex(112, "signatures", s.id, signed, string(content))[2:]}}, nil
}

// signaturesOfTx returns the signed messages of the transactions that converted subnets to L1s.
func (r *request) signaturesOfTx() (any, error) {
	hash := r.values["txHash"]
	if _, err := parseCB58(hash, 32); err != nil {
		r.reject("txHash: %v", err)
	}
	for _, s := range r.subnets {
		if s.conversion != "" && r.conversionTx(s) == hash && r.ours() {
			return r.sign(s, 67, []byte(hash))
		}
	}
	return nil, missing("Transaction %s not found", hash)
}
