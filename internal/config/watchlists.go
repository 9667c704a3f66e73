package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

var (
	evmForm     = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	primaryForm = regexp.MustCompile(`^[PX]-[a-z]+1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38}$`) // bech32 of 20 bytes
	addressForm = regexp.MustCompile(primaryForm.String() + `|` + evmForm.String())
	idForm      = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{36,50}$`) // cb58 of 32 bytes
	tokenForm   = regexp.MustCompile(`^([^/]+)/(0x[0-9a-fA-F]{40})/([0-9]{1,78})(:reindex)?$`)
)

// parseMonitored parses the lists of monitored items. If no Data service is configured, an item that needs it is an error.
func (env Environment) parseMonitored(c *Config, note func(variable string, errs ...error)) {
	noteData := func(variable string, given bool, errs []error) {
		note(variable, errs...)
		if given && env.DataURL == "" {
			note(variable, errors.New("needs the Data service: set AVAX_DATA_URL"))
		}
	}
	monitored, errs := parseList(env.WatchAddresses, addressForm, "write addresses such as P-avax1…, X-fuji1…, or 0x1f… with 40 hex digits after 0x")
	for _, address := range monitored {
		if strings.HasPrefix(address, "0x") {
			c.Watch.EVM = append(c.Watch.EVM, address)
		} else {
			c.Watch.Addresses = append(c.Watch.Addresses, address)
		}
	}
	noteData("WATCH_ADDRESSES", c.Watch.EVM != nil, errs)
	c.Watch.Assets, errs = parseList(env.WatchAssets, idForm, "write asset IDs, of about fifty letters and digits")
	note("WATCH_ASSETS", errs...)
	c.Watch.Contracts, errs = parseList(env.WatchContracts, evmForm, "write addresses that deploy contracts, such as 0x1f… with 40 hex digits after 0x")
	noteData("WATCH_CONTRACTS", c.Watch.Contracts != nil, errs)
	c.Watch.Tokens, errs = parseTokens(env.WatchTokens, c.Chains, c.AutoChains)
	noteData("WATCH_TOKENS", c.Watch.Tokens != nil, errs)
	if c.Watch.Tokens != nil && c.Watch.EVM == nil {
		note("WATCH_TOKENS", errors.New("no holder of a token is monitored: add the holders, such as 0x1f…, to AVAX_WATCH_ADDRESSES"))
	}
	c.Watch.Signatures, errs = parseProbes(env.WatchSignatures)
	noteData("WATCH_SIGNATURES", c.Watch.Signatures != nil, errs)
}

// parseList parses a comma-separated list of items of one form. Hexadecimal digits are compared case-insensitively.
func parseList(s string, form *regexp.Regexp, write string) (items []string, errs []error) {
	for item := range fields(s, ",") {
		same := func(other string) bool {
			return other == item || evmForm.MatchString(item) && strings.EqualFold(other, item)
		}
		switch {
		case !form.MatchString(item):
			errs = append(errs, fmt.Errorf("%q: %s", item, write))
		case slices.ContainsFunc(items, same):
			errs = append(errs, fmt.Errorf("duplicate %s: remove one", item))
		}
		items = append(items, item)
	}
	return items, errs
}

// parseTokens parses NFTs on monitored chains. With auto, every chain is valid, because it may be found later.
func parseTokens(s string, chains []nodes.Chain, auto bool) (tokens []collectors.Token, errs []error) {
	for item := range fields(s, ",") {
		parts := tokenForm.FindStringSubmatch(item)
		if parts == nil {
			errs = append(errs, fmt.Errorf("%q: write chain/contract/id, such as C/0x1f…/7; a contract is 0x and 40 hex digits, an ID is a whole number, and the suffix :reindex is optional", item))
			continue
		}
		t := collectors.Token{Chain: parts[1], Contract: parts[2], ID: parts[3], Reindex: parts[4] != ""}
		switch {
		case !auto && !slices.ContainsFunc(chains, func(c nodes.Chain) bool { return c.Name == t.Chain }):
			errs = append(errs, fmt.Errorf("%q: AVAX_CHAINS has no chain %q: add it there", item, t.Chain))
		case slices.ContainsFunc(tokens, func(o collectors.Token) bool {
			return o.Chain == t.Chain && strings.EqualFold(o.Contract, t.Contract) && o.ID == t.ID
		}):
			errs = append(errs, fmt.Errorf("duplicate %s: remove one", item))
		}
		tokens = append(tokens, t)
	}
	return tokens, errs
}

func parseProbes(s string) (probes []collectors.Probe, errs []error) {
	for item := range fields(s, ",") {
		name, hash, ok := strings.Cut(item, "=")
		switch {
		case !ok || !fleet.ValidName(name) || !idForm.MatchString(hash):
			errs = append(errs, fmt.Errorf("%q: write name=txHash, such as conversion=2GAZ…: the hash of a transaction of the P- or X-Chain has about fifty letters and digits", item))
		case slices.ContainsFunc(probes, func(p collectors.Probe) bool { return p.Name == name }):
			errs = append(errs, fmt.Errorf("duplicate probe name %q: rename one of them", name))
		}
		probes = append(probes, collectors.Probe{Name: name, TxHash: hash})
	}
	return probes, errs
}
