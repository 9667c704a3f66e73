package collectors

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var chainInfoFamily = metric.New("avax_chain_info",
	"IDs and VM of a monitored chain; always 1. The label evm_chain_id is empty if no node has reported this ID.",
	"chain", "blockchain_id", "subnet_id", "vm_id", "name", "evm_chain_id")

var chainInfo = &collector.Spec{
	Name:     "chain_info",
	Help:     "IDs and VM of the chain.",
	Calls:    []string{"platform.getBlockchains", "platform.getTx", "info.getBlockchainID", "info.isBootstrapped", "eth_chainId"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{chainInfoFamily},
	Bind:     collector.Per(collector.Chains, collectChainInfo),
}

func collectChainInfo(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	b, err := ups.Blockchain(ctx, on.Chain)
	if err != nil {
		return err
	}
	evm := ""
	id, err := collector.EVMChainID(ctx, ups, on.Chain)
	switch {
	case err == nil:
		evm = strconv.FormatUint(id, 10)
	case !errors.Is(err, metric.ErrNotOffered):
		return err
	}
	out.Set(chainInfoFamily, 1, on.Chain.Name, b.ID, b.SubnetID, b.VMID, b.Name, evm)
	return nil
}
