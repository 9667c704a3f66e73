package node

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// typed holds the client's Go method for each API method, by name. The parameters in these calls are arbitrary, because they do
// not affect how an answer is decoded.
var typed = map[string]func(context.Context, *Client) error{
	"admin.alias":            func(ctx context.Context, c *Client) error { return c.AdminAlias(ctx, "", "") },
	"admin.aliasChain":       func(ctx context.Context, c *Client) error { return c.AdminAliasChain(ctx, "", "") },
	"admin.getChainAliases":  func(ctx context.Context, c *Client) error { return only(c.AdminChainAliases(ctx, "")) },
	"admin.getLoggerLevel":   func(ctx context.Context, c *Client) error { return only(c.AdminLoggerLevel(ctx, "")) },
	"admin.loadVMs":          func(ctx context.Context, c *Client) error { return only(c.AdminLoadVMs(ctx)) },
	"admin.lockProfile":      func(ctx context.Context, c *Client) error { return c.AdminLockProfile(ctx) },
	"admin.memoryProfile":    func(ctx context.Context, c *Client) error { return c.AdminMemoryProfile(ctx) },
	"admin.setLoggerLevel":   func(ctx context.Context, c *Client) error { return only(c.AdminSetLoggerLevel(ctx, "", LoggerLevel{})) },
	"admin.startCPUProfiler": func(ctx context.Context, c *Client) error { return c.AdminStartCPUProfiler(ctx) },
	"admin.stopCPUProfiler":  func(ctx context.Context, c *Client) error { return c.AdminStopCPUProfiler(ctx) },

	"info.acps":            func(ctx context.Context, c *Client) error { return only(c.ACPs(ctx)) },
	"info.getBlockchainID": func(ctx context.Context, c *Client) error { return only(c.BlockchainID(ctx, "")) },
	"info.getNetworkID":    func(ctx context.Context, c *Client) error { return only(c.NetworkID(ctx)) },
	"info.getNetworkName":  func(ctx context.Context, c *Client) error { return only(c.NetworkName(ctx)) },
	"info.getNodeID":       func(ctx context.Context, c *Client) error { return only(c.NodeID(ctx)) },
	"info.getNodeIP":       func(ctx context.Context, c *Client) error { return only(c.NodeIP(ctx)) },
	"info.getNodeVersion":  func(ctx context.Context, c *Client) error { return only(c.NodeVersion(ctx)) },
	"info.getTxFee":        func(ctx context.Context, c *Client) error { return only(c.TxFee(ctx)) },
	"info.getVMs":          func(ctx context.Context, c *Client) error { return only(c.VMs(ctx)) },
	"info.isBootstrapped":  func(ctx context.Context, c *Client) error { return only(c.IsBootstrapped(ctx, "")) },
	"info.peers":           func(ctx context.Context, c *Client) error { return only(c.Peers(ctx)) },
	"info.upgrades":        func(ctx context.Context, c *Client) error { return only(c.Upgrades(ctx)) },
	"info.uptime":          func(ctx context.Context, c *Client) error { return only(c.Uptime(ctx)) },

	"avm.getAllBalances":      func(ctx context.Context, c *Client) error { return only(c.AVMAllBalances(ctx, "", "")) },
	"avm.getAssetDescription": func(ctx context.Context, c *Client) error { return only(c.AVMAssetDescription(ctx, "", "")) },
	"avm.getBalance":          func(ctx context.Context, c *Client) error { return only(c.AVMBalance(ctx, "", "", "")) },
	"avm.getBlock":            func(ctx context.Context, c *Client) error { return only(c.AVMBlock(ctx, "", "", "")) },
	"avm.getBlockByHeight":    func(ctx context.Context, c *Client) error { return only(c.AVMBlockByHeight(ctx, "", 0, "")) },
	"avm.getHeight":           func(ctx context.Context, c *Client) error { return only(c.AVMHeight(ctx, "")) },
	"avm.getTx":               func(ctx context.Context, c *Client) error { return only(c.AVMTx(ctx, "", "", "")) },
	"avm.getTxFee":            func(ctx context.Context, c *Client) error { return only(c.AVMTxFee(ctx, "")) },
	"avm.getTxStatus":         func(ctx context.Context, c *Client) error { return only(c.AVMTxStatus(ctx, "", "")) },
	"avm.getUTXOs":            func(ctx context.Context, c *Client) error { return only(c.AVMUTXOPage(ctx, "", UTXOQuery{}, nil)) },

	"platform.getBalance":           func(ctx context.Context, c *Client) error { return only(c.PlatformBalance(ctx)) },
	"platform.getBlock":             func(ctx context.Context, c *Client) error { return only(c.PlatformBlock(ctx, "", "")) },
	"platform.getBlockByHeight":     func(ctx context.Context, c *Client) error { return only(c.PlatformBlockByHeight(ctx, 0, "")) },
	"platform.getBlockchains":       func(ctx context.Context, c *Client) error { return only(c.PlatformBlockchains(ctx)) },
	"platform.getBlockchainStatus":  func(ctx context.Context, c *Client) error { return only(c.PlatformBlockchainStatus(ctx, "")) },
	"platform.getCurrentSupply":     func(ctx context.Context, c *Client) error { return only(c.PlatformCurrentSupply(ctx, "")) },
	"platform.getCurrentValidators": func(ctx context.Context, c *Client) error { return only(c.PlatformCurrentValidators(ctx, "")) },
	"platform.getFeeState":          func(ctx context.Context, c *Client) error { return only(c.PlatformFeeState(ctx)) },
	"platform.getHeight":            func(ctx context.Context, c *Client) error { return only(c.PlatformHeight(ctx)) },
	"platform.getTimestamp":         func(ctx context.Context, c *Client) error { return only(c.PlatformTimestamp(ctx)) },
	"platform.getValidatorFeeState": func(ctx context.Context, c *Client) error { return only(c.PlatformValidatorFeeState(ctx)) },

	"eth_baseFee":                func(ctx context.Context, c *Client) error { return only(c.EthBaseFee(ctx, "")) },
	"eth_blockNumber":            func(ctx context.Context, c *Client) error { return only(c.EthBlockNumber(ctx, "")) },
	"eth_chainId":                func(ctx context.Context, c *Client) error { return only(c.EthChainID(ctx, "")) },
	"eth_feeConfig":              func(ctx context.Context, c *Client) error { return only(c.EthFeeConfig(ctx, "", nil)) },
	"eth_getActivePrecompilesAt": func(ctx context.Context, c *Client) error { return only(c.EthActivePrecompilesAt(ctx, "", nil)) },
	"eth_getActiveRulesAt":       func(ctx context.Context, c *Client) error { return only(c.EthActiveRulesAt(ctx, "", nil)) },
	"eth_getBlockByHash":         func(ctx context.Context, c *Client) error { return only(c.EthBlockByHash(ctx, "", "")) },
	"eth_getBlockByNumber":       func(ctx context.Context, c *Client) error { return only(c.EthBlockByNumber(ctx, "", nil)) },
	"eth_getChainConfig":         func(ctx context.Context, c *Client) error { return only(c.EthChainConfig(ctx, "")) },

	"validators.getCurrentValidators": func(ctx context.Context, c *Client) error { return only(c.ValidatorsCurrentValidators(ctx, "")) },
}

// only returns the error of a typed call.
func only[T any](_ T, err error) error { return err }

// check decodes the result of a method as the typed client does.
func (m Method) check(ctx context.Context, result jsontext.Value) error {
	u, err := scrape.Replay(result)
	if err != nil {
		return err
	}
	return typed[m.Name](ctx, New(u))
}
