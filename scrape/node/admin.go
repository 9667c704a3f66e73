package node

import (
	"context"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// The admin API is off unless the node was started with --api-admin-enabled=true; every call is then not_found. No
// collector calls what changes the node.

func admin[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return scrape.RPC[T](ctx, c.u, adminPath, method, params)
}

// change calls a method that changes the node or writes a file beside it: once at most, and its answer is for nobody else.
func change[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return scrape.RPCOnce[T](ctx, c.u, adminPath, method, params)
}

// AdminAlias calls admin.alias, which changes the node: what is under /ext/endpoint, such as bc/X, is also under
// /ext/alias, on this node and until it stops. An alias has at most 512 characters; one that is taken is an error.
func (c *Client) AdminAlias(ctx context.Context, endpoint, alias string) error {
	_, err := change[struct{}](ctx, c, "admin.alias", map[string]string{"endpoint": endpoint, "alias": alias})
	return err
}

// AdminAliasChain calls admin.aliasChain, which changes the node: the alias, of at most 512 characters, will do
// wherever the chain's blockchain ID does, on this node and until it stops.
func (c *Client) AdminAliasChain(ctx context.Context, chain, alias string) error {
	_, err := change[struct{}](ctx, c, "admin.aliasChain", map[string]string{"chain": chain, "alias": alias})
	return err
}

// AdminChainAliases asks admin.getChainAliases of a blockchain ID; an alias will not do. The ID itself is among the
// answers; there are none for a chain that the node does not run.
func (c *Client) AdminChainAliases(ctx context.Context, chain string) ([]string, error) {
	answer, err := admin[struct {
		Aliases []string `json:"aliases"`
	}](ctx, c, "admin.getChainAliases", map[string]string{"chain": chain})
	return answer.Aliases, err
}

// LoggerLevel is what a logger lets through: VERBO, DEBUG, TRACE, INFO, WARN, ERROR, FATAL or OFF.
type LoggerLevel struct {
	LogLevel     string `json:"logLevel,omitempty"`     // to its file
	DisplayLevel string `json:"displayLevel,omitempty"` // to the terminal
}

// AdminLoggerLevel asks admin.getLoggerLevel: the levels by logger name, such as main, C or a blockchain ID, of one
// logger, or of all where loggerName is empty. A logger that there is not is an error.
func (c *Client) AdminLoggerLevel(ctx context.Context, loggerName string) (map[string]LoggerLevel, error) {
	answer, err := admin[struct {
		LoggerLevels map[string]LoggerLevel `json:"loggerLevels"`
	}](ctx, c, "admin.getLoggerLevel", struct {
		LoggerName string `json:"loggerName,omitempty"`
	}{loggerName})
	return answer.LoggerLevels, err
}

// AdminSetLoggerLevel calls admin.setLoggerLevel, which changes the node: one logger, or all where loggerName is empty. An
// empty level stays as it is; both empty is an error. It gives the new levels by logger, none from a release that does not
// tell.
func (c *Client) AdminSetLoggerLevel(ctx context.Context, loggerName string, to LoggerLevel) (map[string]LoggerLevel, error) {
	answer, err := change[struct {
		LoggerLevels map[string]LoggerLevel `json:"loggerLevels,omitzero"`
	}](ctx, c, "admin.setLoggerLevel", struct {
		LoggerName string `json:"loggerName,omitempty"`
		LoggerLevel
	}{loggerName, to})
	return answer.LoggerLevels, err
}

// LoadedVMs is what a search for plugins found, by VM ID.
type LoadedVMs struct {
	NewVMs    map[string][]string `json:"newVMs"`             // aliases of the VMs that were not there before
	FailedVMs map[string]string   `json:"failedVMs,omitzero"` // why a VM could not be loaded
}

// AdminLoadVMs calls admin.loadVMs, which changes the node: it looks for plugins that were installed since it started.
func (c *Client) AdminLoadVMs(ctx context.Context) (LoadedVMs, error) {
	return change[LoadedVMs](ctx, c, "admin.loadVMs", nil)
}

// AdminLockProfile calls admin.lockProfile: the node writes statistics of its mutexes to lock.profile, on its own disk.
func (c *Client) AdminLockProfile(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.lockProfile", nil)
	return err
}

// AdminMemoryProfile calls admin.memoryProfile: the node writes a profile of its memory to mem.profile, on its own disk.
func (c *Client) AdminMemoryProfile(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.memoryProfile", nil)
	return err
}

// AdminStartCPUProfiler calls admin.startCPUProfiler: the node profiles its CPU until AdminStopCPUProfiler.
func (c *Client) AdminStartCPUProfiler(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.startCPUProfiler", nil)
	return err
}

// AdminStopCPUProfiler calls admin.stopCPUProfiler: the node writes the profile to cpu.profile, on its own disk.
func (c *Client) AdminStopCPUProfiler(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.stopCPUProfiler", nil)
	return err
}
