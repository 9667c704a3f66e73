package node

import "context"

// The admin API is disabled unless the node was started with --api-admin-enabled=true. While it is disabled, every call has
// the outcome not_found. No collector calls a method that changes the node.

// AdminChainAliases calls admin.getChainAliases for a blockchain ID, not an alias. The answer includes the ID itself. It is
// empty for a chain that the node does not run.
func (c *Client) AdminChainAliases(ctx context.Context, chain string) ([]string, error) {
	return call(ctx, c, getChainAliases, "", map[string]string{"chain": chain})
}

// LoggerLevel is the lowest level that a logger writes: VERBO, DEBUG, TRACE, INFO, WARN, ERROR, FATAL or OFF.
type LoggerLevel struct {
	LogLevel     string `json:"logLevel"`     // of the log file
	DisplayLevel string `json:"displayLevel"` // of the terminal
}

// AdminLoggerLevels calls admin.getLoggerLevel. It returns the levels by logger name, such as main, C or a blockchain ID.
func (c *Client) AdminLoggerLevels(ctx context.Context) (map[string]LoggerLevel, error) {
	return call(ctx, c, getLoggerLevel, "", map[string]string{})
}
