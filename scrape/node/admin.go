package node

import (
	"context"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// The admin API is disabled unless the node was started with --api-admin-enabled=true. While it is disabled, every call has
// the outcome not_found. No collector calls a method that changes the node.

func admin[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return scrape.RPC[T](ctx, c.u, adminPath, method, params)
}

// change calls a method that changes the node or writes a file on it. The call is sent at most once and never shared.
func change[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return scrape.RPCOnce[T](ctx, c.u, adminPath, method, params)
}

// AdminAlias calls admin.alias, which changes the node: until the node stops, the path /ext/ENDPOINT, such as /ext/bc/X, is
// also available as /ext/ALIAS. An alias has at most 512 characters. An alias that is already in use is an error.
func (c *Client) AdminAlias(ctx context.Context, endpoint, alias string) error {
	_, err := change[struct{}](ctx, c, "admin.alias", map[string]string{"endpoint": endpoint, "alias": alias})
	return err
}

// AdminAliasChain calls admin.aliasChain, which changes the node: until the node stops, it accepts the alias in place of the
// chain's blockchain ID. An alias has at most 512 characters.
func (c *Client) AdminAliasChain(ctx context.Context, chain, alias string) error {
	_, err := change[struct{}](ctx, c, "admin.aliasChain", map[string]string{"chain": chain, "alias": alias})
	return err
}

// AdminChainAliases calls admin.getChainAliases for a blockchain ID, not an alias. The answer includes the ID itself. It is
// empty for a chain that the node does not run.
func (c *Client) AdminChainAliases(ctx context.Context, chain string) ([]string, error) {
	answer, err := admin[struct {
		Aliases []string `json:"aliases"`
	}](ctx, c, "admin.getChainAliases", map[string]string{"chain": chain})
	return answer.Aliases, err
}

// LoggerLevel is the lowest level that a logger writes: VERBO, DEBUG, TRACE, INFO, WARN, ERROR, FATAL or OFF.
type LoggerLevel struct {
	LogLevel     string `json:"logLevel,omitempty"`     // of the log file
	DisplayLevel string `json:"displayLevel,omitempty"` // of the terminal
}

// AdminLoggerLevel calls admin.getLoggerLevel. It returns the levels by logger name, such as main, C or a blockchain ID. An
// empty loggerName means all loggers. An unknown logger is an error.
func (c *Client) AdminLoggerLevel(ctx context.Context, loggerName string) (map[string]LoggerLevel, error) {
	answer, err := admin[struct {
		LoggerLevels map[string]LoggerLevel `json:"loggerLevels"`
	}](ctx, c, "admin.getLoggerLevel", struct {
		LoggerName string `json:"loggerName,omitempty"`
	}{loggerName})
	return answer.LoggerLevels, err
}

// AdminSetLoggerLevel calls admin.setLoggerLevel, which changes the node. An empty loggerName means all loggers. If
// a level is empty, the node does not change it. Two empty levels are an error. AdminSetLoggerLevel returns the new levels by
// logger name. If the node's release does not return levels, the result is empty.
func (c *Client) AdminSetLoggerLevel(ctx context.Context, loggerName string, to LoggerLevel) (map[string]LoggerLevel, error) {
	answer, err := change[struct {
		LoggerLevels map[string]LoggerLevel `json:"loggerLevels,omitzero"`
	}](ctx, c, "admin.setLoggerLevel", struct {
		LoggerName string `json:"loggerName,omitempty"`
		LoggerLevel
	}{loggerName, to})
	return answer.LoggerLevels, err
}

// LoadedVMs is the result of a search for plugins, by VM ID.
type LoadedVMs struct {
	NewVMs    map[string][]string `json:"newVMs"`             // aliases of the VMs that were not loaded before
	FailedVMs map[string]string   `json:"failedVMs,omitzero"` // errors of the VMs that could not be loaded
}

// AdminLoadVMs calls admin.loadVMs, which changes the node: it loads plugins that were installed since its start.
func (c *Client) AdminLoadVMs(ctx context.Context) (LoadedVMs, error) {
	return change[LoadedVMs](ctx, c, "admin.loadVMs", nil)
}

// AdminLockProfile calls admin.lockProfile: the node writes statistics of its mutexes to lock.profile on its own disk.
func (c *Client) AdminLockProfile(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.lockProfile", nil)
	return err
}

// AdminMemoryProfile calls admin.memoryProfile: the node writes a memory profile to mem.profile on its own disk.
func (c *Client) AdminMemoryProfile(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.memoryProfile", nil)
	return err
}

// AdminStartCPUProfiler calls admin.startCPUProfiler: the node profiles its CPU until AdminStopCPUProfiler.
func (c *Client) AdminStartCPUProfiler(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.startCPUProfiler", nil)
	return err
}

// AdminStopCPUProfiler calls admin.stopCPUProfiler: the node writes the profile to cpu.profile on its own disk.
func (c *Client) AdminStopCPUProfiler(ctx context.Context) error {
	_, err := change[struct{}](ctx, c, "admin.stopCPUProfiler", nil)
	return err
}
