package data

import (
	"context"
	"iter"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// The states of an interchain message.
const (
	ICMPending                   = "pending"                      // sent, not delivered yet
	ICMDelivered                 = "delivered"                    // the service indexed both transactions
	ICMDeliveredSourceNotIndexed = "delivered_source_not_indexed" // delivered from a chain that the service does not index
)

// ICMMessage is a message from one chain to another.
type ICMMessage struct {
	MessageID               string          `json:"messageId"`
	Status                  string          `json:"status"` // such as ICMPending
	ICMContractAddress      string          `json:"icmContractAddress,omitzero"`
	SourceBlockchainID      string          `json:"sourceBlockchainId"`
	DestinationBlockchainID string          `json:"destinationBlockchainId"`
	SourceEVMChainID        string          `json:"sourceEvmChainId,omitzero"`
	DestinationEVMChainID   string          `json:"destinationEvmChainId,omitzero"`
	MessageNonce            Amount          `json:"messageNonce"`
	From                    string          `json:"from"`
	To                      string          `json:"to"`
	Data                    string          `json:"data,omitzero"`
	MessageExecuted         bool            `json:"messageExecuted"`
	ReceiptDelivered        bool            `json:"receiptDelivered"`
	Receipts                []ICMReceipt    `json:"receipts,omitzero"`
	RewardDetails           *ICMReward      `json:"rewardDetails"`
	SourceTransaction       *ICMSource      `json:"sourceTransaction"`      // nil for ICMDeliveredSourceNotIndexed
	DestinationTransaction  *ICMDestination `json:"destinationTransaction"` // nil for ICMPending
}

// ICMReceipt confirms the arrival of an earlier message in the other direction.
type ICMReceipt struct {
	ReceivedMessageNonce Amount `json:"receivedMessageNonce"`
	RelayerRewardAddress string `json:"relayerRewardAddress"`
}

// ICMReward is the relayer's reward for the delivery.
type ICMReward struct {
	Address  string      `json:"address"` // of the token's contract
	Name     string      `json:"name,omitzero"`
	Symbol   string      `json:"symbol,omitzero"`
	Decimals wire.Uint64 `json:"decimals"`
	LogoURI  string      `json:"logoUri,omitzero"`
	ERCType  string      `json:"ercType,omitzero"`
	Price    *Money      `json:"price"`
	Value    Amount      `json:"value"`
}

// ICMSource is the transaction that sent a message.
type ICMSource struct {
	TxHash    string        `json:"txHash"`
	Timestamp wire.UnixTime `json:"timestamp"`
	GasSpent  Amount        `json:"gasSpent"`
}

// ICMDestination is the transaction that delivered a message.
type ICMDestination struct {
	TxHash           string        `json:"txHash"`
	Timestamp        wire.UnixTime `json:"timestamp"`
	GasSpent         Amount        `json:"gasSpent"`
	RewardRedeemer   string        `json:"rewardRedeemer,omitzero"`
	DelivererAddress string        `json:"delivererAddress,omitzero"`
}

// ICMQuery selects the network of messages.
type ICMQuery struct {
	Network string // empty: all
	Paging
}

// ICMMessagePage is one page of interchain messages.
type ICMMessagePage struct {
	Messages      []Item[ICMMessage] `json:"messages"`
	NextPageToken string             `json:"nextPageToken,omitzero"`
}

func (p ICMMessagePage) content() ([]Item[ICMMessage], string) { return p.Messages, p.NextPageToken }

// ICMMessagePage calls GET /v1/icm/addresses/{address}/messages for one page.
func (c *Client) ICMMessagePage(ctx context.Context, address string, m ICMQuery, pageToken string) (ICMMessagePage, error) {
	q := newRequest(icmMessages)
	q.want(evmAddress.MatchString(address), "address %s: write an EVM address, 40 hex digits after 0x", quote(address))
	q.address(address)
	q.want(m.Network == "" || isNetwork(m.Network), "network %s: write mainnet, fuji or testnet", quote(m.Network))
	q.set("network", m.Network)
	q.page(m.Paging, pageToken)
	return get[ICMMessagePage](ctx, c, q)
}

// ICMMessages yields the messages of an EVM address, newest first, page by page.
func (c *Client) ICMMessages(ctx context.Context, address string, m ICMQuery) iter.Seq2[ICMMessage, error] {
	m.Paging = m.forWalk(icmMessages)
	return walk(ctx, icmMessages, m.MaxPages, func(ctx context.Context, token string) (ICMMessagePage, error) {
		return c.ICMMessagePage(ctx, address, m, token)
	}, func(m ICMMessage) string { return m.MessageID })
}
