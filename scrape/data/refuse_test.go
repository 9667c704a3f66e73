package data_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

func TestInvalidParametersAreNotSent(t *testing.T) {
	c := data.New(open(t, func(r *http.Request) (*http.Response, error) {
		t.Errorf("sent: %s", r.URL)
		return respond(200, "{}"), nil
	}))
	sign := func(q data.SignatureQuery) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.AggregateSignatures(ctx, data.Mainnet, q)
			return err
		}
	}
	rewards := func(q data.RewardQuery) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.RewardPage(ctx, data.Mainnet, q, "")
			return err
		}
	}
	assets := func(network, chain, asset string, q data.AssetTransactionQuery) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := count(c.AssetTransactions(ctx, network, chain, asset, q))
			return err
		}
	}
	page := func(n int) data.Paging { return data.Paging{PageSize: n} }
	ids := []string{nodeID}

	for _, r := range []struct {
		ask  func(context.Context) error
		want string // after the op
	}{
		{sign(data.SignatureQuery{}), `write exactly one of message and justification`},
		{sign(data.SignatureQuery{Message: "00", Justification: "00"}), `write exactly one of message and justification`},
		{sign(data.SignatureQuery{Message: "0x0"}), `message: write bytes in hex, with or without 0x`},
		{sign(data.SignatureQuery{Justification: "hello"}), `justification: write bytes in hex, with or without 0x`},
		{sign(data.SignatureQuery{Message: "00", SigningSubnetID: "a/b"}), `signingSubnetId "a/b": write the ID of a subnet, in cb58 or hex`},
		{sign(data.SignatureQuery{Message: "00", QuorumPercentage: new(101)}), `quorumPercentage 101: write 0 to 100`},
		{sign(data.SignatureQuery{Message: "00", QuorumPercentage: new(-1)}), `quorumPercentage -1: write 0 to 100`},
		{sign(data.SignatureQuery{Message: "00", QuorumPercentageBuffer: -1}), `quorumPercentageBuffer -1: write 0 to 100`},
		{sign(data.SignatureQuery{Message: "00", QuorumPercentageBuffer: 34}), `quorumPercentage 67 (the default) and quorumPercentageBuffer 34 add up to more than 100: reduce one of them`},
		{sign(data.SignatureQuery{Message: "00", QuorumPercentage: new(60), QuorumPercentageBuffer: 41}), `quorumPercentage 60 and quorumPercentageBuffer 41 add up to more than 100: reduce one of them`},
		{func(ctx context.Context) error { _, err := c.AggregatedSignatures(ctx, "main", "x"); return err }, `network "main": write mainnet, fuji or testnet`},
		{func(ctx context.Context) error { _, err := c.AggregatedSignatures(ctx, data.Mainnet, ".."); return err }, `txHash "..": write the ID of a transaction of the P- or X-Chain`},
		{assets("", data.XChain, "a", data.AssetTransactionQuery{}), `network "": write mainnet, fuji or testnet`},
		{assets(data.Fuji, "", "a", data.AssetTransactionQuery{}), `blockchainId "": write x-chain, or the blockchain ID of the X-Chain`},
		{assets(data.Fuji, data.XChain, " ", data.AssetTransactionQuery{}), `assetId " ": write the ID of an asset of the X-Chain`},
		{assets(data.Fuji, data.XChain, "a", data.AssetTransactionQuery{TxTypes: []string{"BaseTx", ""}}), `txTypes "": write types such as ImportTx`},
		{assets(data.Fuji, data.XChain, "a", data.AssetTransactionQuery{Start: time.Unix(2, 0), End: time.Unix(1, 0)}), `startTimestamp is after endTimestamp: swap them`},
		{assets(data.Fuji, data.XChain, "a", data.AssetTransactionQuery{End: time.Unix(-1, 0).UTC()}), `endTimestamp 1969-12-31T23:59:59Z: write a time after 1970`},
		{assets(data.Fuji, data.XChain, "a", data.AssetTransactionQuery{Paging: page(101)}), `pageSize 101: write 1 to 100`},
		{func(ctx context.Context) error {
			_, err := c.BlockchainPage(ctx, data.Mainnet, data.BlockchainQuery{Paging: page(10001)}, "")
			return err
		}, `pageSize 10001: write 1 to 10000`},
		{func(ctx context.Context) error {
			_, err := c.BlockchainPage(ctx, data.Mainnet, data.BlockchainQuery{SortOrder: "up"}, "")
			return err
		}, `sortOrder "up": write asc or desc`},
		{func(ctx context.Context) error { _, err := c.Subnet(ctx, data.Mainnet, ""); return err }, `subnetId "": write the ID of a subnet`},
		{rewards(data.RewardQuery{}), `write at least one of addresses and nodeIds`},
		{rewards(data.RewardQuery{NodeIDs: []string{"7Xhw"}}), `nodeIds "7Xhw": write node IDs such as NodeID-7Xhw…`},
		{rewards(data.RewardQuery{NodeIDs: []string{"NodeID-a,NodeID-b"}}), `nodeIds "NodeID-a,NodeID-b": write node IDs such as NodeID-7Xhw…`},
		{rewards(data.RewardQuery{Addresses: []string{"C-avax1x"}}), `addresses "C-avax1x": write addresses of the X- or P-Chain such as P-avax1… or avax1…`},
		{rewards(data.RewardQuery{Addresses: []string{wallet}}), `addresses "` + wallet + `": write addresses of the X- or P-Chain such as P-avax1… or avax1…`},
		{rewards(data.RewardQuery{NodeIDs: ids, Currency: "btc"}), `currency "btc": write one of usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy, nzd`},
		{rewards(data.RewardQuery{NodeIDs: ids, SortOrder: "DESC"}), `sortOrder "DESC": write asc or desc`},
		{rewards(data.RewardQuery{NodeIDs: ids, Paging: page(-1)}), `pageSize -1: write 1 to 100`},
		{func(ctx context.Context) error {
			_, err := c.ERC721TransferPage(ctx, "", wallet, data.BlockRange{}, "")
			return err
		}, `chainId "": write the number of an EVM chain such as 43114, or its blockchain ID`},
		{func(ctx context.Context) error {
			_, err := c.ERC721TransferPage(ctx, "1", wallet, data.BlockRange{StartBlock: at(5), EndBlock: at(5)}, "")
			return err
		}, `endBlock 5: write a number above startBlock (5); the range ends before endBlock`},
		{func(ctx context.Context) error {
			_, err := count(c.InternalTransactions(ctx, "1", "", data.BlockRange{}))
			return err
		}, `address "": write an address such as 0x1f…`},
		{func(ctx context.Context) error {
			_, err := c.InternalTransactionPage(ctx, "1", wallet, data.BlockRange{Paging: page(101)}, "")
			return err
		}, `pageSize 101: write 1 to 100`},
		{func(ctx context.Context) error {
			_, err := c.ERC1155BalancePage(ctx, "1", wallet, data.ERC1155Query{Paging: page(501)}, "")
			return err
		}, `pageSize 501: write 1 to 500`},
		{func(ctx context.Context) error {
			_, err := c.ERC721BalancePage(ctx, "1", wallet, data.CollectibleQuery{ContractAddress: "a b"}, "")
			return err
		}, `contractAddress "a b": write an address such as 0x1f…`},
		{func(ctx context.Context) error {
			_, err := c.CollectiblePage(ctx, "1", wallet, data.CollectibleQuery{Paging: page(501)}, "")
			return err
		}, `pageSize 501: write 1 to 500`},
		{func(ctx context.Context) error {
			_, err := c.NativeBalance(ctx, "1", wallet, data.NativeBalanceQuery{Currency: "USD"})
			return err
		}, `currency "USD": write one of usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy, nzd`},
		{func(ctx context.Context) error {
			_, err := c.DeploymentPage(ctx, "1", wallet, page(101), "")
			return err
		}, `pageSize 101: write 1 to 100`},
		{func(ctx context.Context) error {
			_, err := c.ICMMessagePage(ctx, "0x1f", data.ICMQuery{}, "")
			return err
		}, `address "0x1f": write an EVM address, 40 hex digits after 0x`},
		{func(ctx context.Context) error {
			_, err := c.ICMMessagePage(ctx, wallet, data.ICMQuery{Network: "local"}, "")
			return err
		}, `network "local": write mainnet, fuji or testnet`},
		{func(ctx context.Context) error { _, err := c.Block(ctx, "1", "latest"); return err }, `blockId "latest": write the number of a block, or its hash, 64 hex digits after 0x`},
		{func(ctx context.Context) error { return c.Reindex(ctx, "1", nftAt, "") }, `tokenId "": write the ID of a token of the contract`},
		{func(ctx context.Context) error {
			_, err := c.Subnet(ctx, data.Mainnet, strings.Repeat("x", 200)+"\n")
			return err
		}, `subnetId "` + strings.Repeat("x", 80) + `…": write the ID of a subnet`},
	} {
		err := r.ask(t.Context())
		if scrape.OutcomeOf(err) != scrape.Rejected {
			t.Errorf("%s\n got %v", r.want, err)
		} else if _, got, _ := strings.Cut(err.Error(), ": rejected: "); got != r.want {
			t.Errorf("\n got %s\nwant %s", got, r.want)
		}
	}
}

func TestEveryDocumentedValueIsAccepted(t *testing.T) {
	requests := 0
	c := data.New(open(t, func(r *http.Request) (*http.Response, error) {
		requests++
		return respond(200, `{"historicalRewards":[],"transactions":[],"chainInfo":{"chainName":"x","network":"y"},"signedMessage":"0"}`), nil
	}))
	asked := 0
	try := func(err error) {
		t.Helper()
		if asked++; err != nil {
			t.Error(err)
		}
	}
	for _, currency := range append(data.Currencies(), "") {
		_, err := c.RewardPage(t.Context(), data.Mainnet, data.RewardQuery{NodeIDs: []string{nodeID}, Currency: currency}, "")
		try(err)
	}
	for _, size := range []int{0, 1, 100} {
		for _, address := range []string{"P-fuji1h2ccj9", "X-avax1h2ccj9", "avax1h2ccj9", "P-custom18jma8p"} {
			_, err := c.RewardPage(t.Context(), data.Fuji, data.RewardQuery{Addresses: []string{address}, Paging: data.Paging{PageSize: size}}, "")
			try(err)
		}
	}
	_, err := c.AssetTransactionPage(t.Context(), data.Testnet, "2oYMBNV4", "a", data.AssetTransactionQuery{TxTypes: []string{"TypeOfTomorrowTx"}, Start: time.Unix(5, 0), End: time.Unix(5, 0)}, "")
	try(err)
	for _, q := range []data.SignatureQuery{{Message: "0XAB"[2:]}, {Message: "0x00", QuorumPercentage: new(100)}, {Justification: "00", QuorumPercentageBuffer: 33}, {Message: "00", QuorumPercentage: new(0), QuorumPercentageBuffer: 100}} {
		_, err := c.AggregateSignatures(t.Context(), data.Mainnet, q)
		try(err)
	}
	if requests != asked || len(data.Currencies()) != 14 {
		t.Errorf("%d requests for %d calls, %d currencies", requests, asked, len(data.Currencies()))
	}
}
