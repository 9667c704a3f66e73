package simnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var adminService = service{"admin", map[string]method{
	"alias":            on((*view).adminAlias),
	"aliasChain":       on((*view).adminAliasChain),
	"getChainAliases":  on((*view).adminChainAliases),
	"getLoggerLevel":   on((*view).adminLoggerLevel),
	"loadVMs":          on((*view).adminLoadVMs),
	"lockProfile":      on((*view).adminNothing),
	"memoryProfile":    on((*view).adminNothing),
	"setLoggerLevel":   on((*view).adminSetLoggerLevel),
	"startCPUProfiler": on((*view).adminNothing),
	"stopCPUProfiler":  on((*view).adminNothing),
}}

// logLevel is a logger's levels for its file and for the terminal.
type logLevel struct {
	LogLevel     string `json:"logLevel"`
	DisplayLevel string `json:"displayLevel"`
}

type loggerLevels struct {
	Levels map[string]logLevel `json:"loggerLevels"`
}

// adminNothing answers the calls that only write a file on the node's disk.
func (v *view) adminNothing(noParams) (any, error) { return struct{}{}, nil }

func (v *view) adminLoadVMs(noParams) (any, error) {
	return struct {
		NewVMs map[string][]string `json:"newVMs"`
	}{map[string][]string{}}, nil
}

const maxAlias = 512

func (v *view) adminAlias(p struct{ Endpoint, Alias string }) (any, error) {
	if len(p.Alias) > maxAlias {
		return nil, errors.New("alias length is too long")
	}
	if _, taken := v.node.endpoints[p.Alias]; taken {
		return nil, fmt.Errorf("route is either already aliased or already maps to a handle: /ext/%s", p.Alias)
	}
	v.node.endpoints[p.Alias] = p.Endpoint
	return struct{}{}, nil
}

func (v *view) adminAliasChain(p struct{ Chain, Alias string }) (any, error) {
	if len(p.Alias) > maxAlias {
		return nil, errors.New("alias length is too long")
	}
	c := v.aliased(p.Chain)
	if c == nil {
		return nil, fmt.Errorf("there is no ID with alias: %s", p.Chain)
	}
	if v.aliased(p.Alias) != nil {
		return nil, fmt.Errorf("alias already mapped to an ID: %s", p.Alias)
	}
	v.node.aliases[p.Alias] = c
	return struct{}{}, nil
}

// adminChainAliases accepts only an ID, and answers null for a chain that the node does not run.
func (v *view) adminChainAliases(p struct{ Chain string }) (any, error) {
	if _, err := parseCB58(p.Chain, 32); err != nil {
		return nil, err
	}
	var aliases []string
	if c := v.chain(p.Chain); c != nil && v.runs(c) {
		aliases = append(slices.Clone(c.aliases), c.id)
		var added []string
		for alias, of := range v.node.aliases {
			if of == c {
				added = append(added, alias)
			}
		}
		slices.Sort(added)
		aliases = append(aliases, added...)
	}
	return struct {
		Aliases []string `json:"aliases"`
	}{aliases}, nil
}

// loggers returns the levels of all loggers, or of the named one.
func (v *view) loggers(name string) (loggerLevels, error) {
	levels := make(map[string]logLevel)
	add := func(name string) {
		level, ok := v.node.levels[name]
		if !ok {
			level = logLevel{"INFO", "OFF"}
		}
		levels[name] = level
	}
	add("main")
	add("vm-factory")
	for _, c := range v.chains {
		if state := v.chainState(c); state == Running || state == Bootstrapping {
			add(c.label())
		}
	}
	if name == "" {
		return loggerLevels{levels}, nil
	}
	level, ok := levels[name]
	if !ok {
		return loggerLevels{}, fmt.Errorf("logger with name %q not found", name)
	}
	return loggerLevels{map[string]logLevel{name: level}}, nil
}

func (v *view) adminLoggerLevel(p struct{ LoggerName string }) (any, error) {
	return v.loggers(p.LoggerName)
}

func (v *view) adminSetLoggerLevel(p struct{ LoggerName, LogLevel, DisplayLevel string }) (any, error) {
	if p.LogLevel == "" && p.DisplayLevel == "" {
		return nil, errors.New("need to specify either displayLevel or logLevel")
	}
	for _, level := range []string{p.LogLevel, p.DisplayLevel} {
		if !slices.Contains([]string{"", "VERBO", "DEBUG", "TRACE", "INFO", "WARN", "ERROR", "FATAL", "OFF"}, strings.ToUpper(level)) {
			return nil, fmt.Errorf("unknown log level: %s", level)
		}
	}
	found, err := v.loggers(p.LoggerName)
	if err != nil {
		return nil, err
	}
	for name, level := range found.Levels {
		if p.LogLevel != "" {
			level.LogLevel = strings.ToUpper(p.LogLevel)
		}
		if p.DisplayLevel != "" {
			level.DisplayLevel = strings.ToUpper(p.DisplayLevel)
		}
		v.node.levels[name] = level
	}
	return v.loggers(p.LoggerName)
}
