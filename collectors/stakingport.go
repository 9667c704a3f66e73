package collectors

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var nodeStakingPortOpen = metric.New("avax_node_staking_port_open",
	"1 if the exporter could open a TCP connection to the address and port that the node announces to its peers, 0 if not.",
	"node")

var stakingPort = &collector.Spec{
	Name: "staking_port",
	Help: "Whether the exporter can connect to the address that the node announces to its peers. Off by default, because the answer depends on where the " +
		"exporter runs.",
	Calls:    []string{"info.getNodeIP"},
	Every:    time.Hour,
	Off:      true,
	Families: []*metric.Family{nodeStakingPortOpen},
	Bind:     collector.Per(collector.Nodes, collectStakingPort),
}

// connectTimeout limits the attempt. A firewall that drops packets gives no answer.
const connectTimeout = 5 * time.Second

// collectStakingPort opens one connection to the address that the node announces, and closes it at once. It sends nothing. An address that
// peers cannot use, such as a loopback address, counts as closed, and no connection is opened.
func collectStakingPort(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	announced, err := on.Node.NodeIP(scrape.MaxAge(ctx, collector.StaticAge))
	if err != nil {
		return err
	}
	address, err := netip.ParseAddrPort(announced)
	if err != nil {
		return fmt.Errorf("info.getNodeIP: %q is no address with a port: set public-ip and staking-port of the node", announced)
	}
	if !address.Addr().IsGlobalUnicast() || address.Port() == 0 {
		out.SetBool(nodeStakingPortOpen, false, on.Node.Name())
		return nil
	}
	dial := ups.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	attempt, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dial(attempt, "tcp", address.String())
	if err == nil {
		_ = conn.Close()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("connect to %s: %w", address, ctx.Err())
	}
	out.SetBool(nodeStakingPortOpen, err == nil, on.Node.Name())
	return nil
}
