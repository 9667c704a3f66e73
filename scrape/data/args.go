package data

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Args are the parameters of a call, by name. A value is a string, a number, a list, or JSON. Nil, an empty string and an empty
// list mean the service's default.
type Args map[string]any

// The networks. Fuji and Testnet are the same network.
const (
	Mainnet = "mainnet"
	Fuji    = "fuji"
	Testnet = "testnet"
)

// Descending is a sort order of a list.
const Descending = "desc"

// USD is the default currency of values.
const USD = "usd"

var currencies = []string{USD, "eur", "aud", "cad", "chf", "clp", "cny", "czk", "dkk", "gbp", "hkd", "huf", "jpy", "nzd"}

// Currencies returns the currencies in which the service can give values.
func Currencies() []string { return slices.Clone(currencies) }

// form is the form of a parameter: what it must match, and what to write instead.
type form struct {
	match *regexp.Regexp
	write string
}

func oneOf(values ...string) form {
	return form{regexp.MustCompile(`^(` + strings.Join(values, "|") + `)$`), "one of " + strings.Join(values, ", ")}
}

var (
	evmAddress = form{regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`), "an EVM address, 40 hex digits after 0x"}
	number     = form{regexp.MustCompile(`^[0-9]+$`), "a whole number of 0 or more"}
	percent    = form{regexp.MustCompile(`^([0-9]{1,2}|100)$`), "0 to 100"}
	hexBytes   = form{regexp.MustCompile(`^(0x)?([0-9a-fA-F]{2})+$`), "bytes in hex, with or without 0x"}
	word       = form{regexp.MustCompile(`^[^\s\p{C}]+$`), "one word without spaces"}

	// forms holds the form of each parameter that is more than a word.
	forms = map[string]form{
		"network":                oneOf(Mainnet, Fuji, Testnet),
		"address":                evmAddress,
		"contractAddress":        evmAddress,
		"addresses":              {primaryAddress, "addresses of the X- or P-Chain such as P-avax1… or avax1…"},
		"nodeIds":                {regexp.MustCompile(`^NodeID-[0-9A-Za-z]+$`), "node IDs such as NodeID-7Xhw…"},
		"blockId":                {regexp.MustCompile(`^([0-9]+|0x[0-9a-fA-F]{64})$`), "the number of a block, or its hash, 64 hex digits after 0x"},
		"blockNumber":            number,
		"startBlock":             number,
		"endBlock":               number,
		"startTimestamp":         number,
		"endTimestamp":           number,
		"pageSize":               number,
		"pageToken":              {regexp.MustCompile(`(?s).`), "the token of the previous page"},
		"pChainHeight":           number,
		"sortOrder":              oneOf("asc", Descending),
		"currency":               oneOf(currencies...),
		"message":                hexBytes,
		"justification":          hexBytes,
		"quorumPercentage":       percent,
		"quorumPercentageBuffer": percent,
	}
)

// checkedDigits are the parameters whose values have a checksum. A blockchainId or chainId may be an alias or a number.
var checkedDigits = []string{"address", "contractAddress", "addresses", "nodeIds", "nodeId", "subnetId", "signingSubnetId", "blockchainId", "chainId",
	"assetId",
	"txHash", "l1ValidationId"}

// Request returns the path of a call with its query, and its body. An error contains a remedy.
func Request(m *scrape.Method, args Args) (path string, body any, err error) {
	path = m.Path
	query, rest, texts := url.Values{}, map[string]any{}, map[string][]string{}
	for _, param := range m.Params {
		name := strings.TrimSuffix(param, "?")
		if texts[name], err = textsOf(args[name]); err != nil {
			return "", nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		if err := check(name, texts[name]); err != nil {
			return "", nil, err
		}
		text, inPath := strings.Join(texts[name], ","), "{"+name+"}"
		switch {
		case strings.Contains(path, inPath) && (text == "" || text == "." || text == ".."):
			return "", nil, fmt.Errorf("parameter %q: write a value", name)
		case strings.Contains(path, inPath):
			path = strings.ReplaceAll(path, inPath, url.PathEscape(text))
		case text == "":
		case m.Verb == http.MethodPost:
			rest[name] = args[name]
		case name == "txTypes": // the only list that is not sent as one value with commas
			query[name] = texts[name]
		default:
			query.Set(name, text)
		}
	}
	if err := checkTogether(m, texts); err != nil {
		return "", nil, err
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if len(rest) > 0 {
		body = rest
	}
	return path, body, nil
}

// check checks the values of a parameter.
func check(name string, texts []string) error {
	f, ok := forms[name]
	if !ok {
		f = word
	}
	for _, text := range texts {
		if !f.match.MatchString(text) {
			return fmt.Errorf("%s %s: write %s", name, quote(text), f.write)
		}
		if !slices.Contains(checkedDigits, name) {
			continue
		}
		if err := CheckDigits(text); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return nil
}

// CheckEVMAddress returns an error if s has the form of an EVM address, and the upper and lower case of its digits is not the
// checksum of EIP-55. Digits of one case have no checksum.
func CheckEVMAddress(s string) error {
	digits := strings.TrimPrefix(s, "0x")
	lower := strings.ToLower(digits)
	if !evmAddress.match.MatchString(s) || digits == lower || digits == strings.ToUpper(digits) {
		return nil
	}
	for i, nibble := range wire.Keccak256(lower)[:len(lower)] {
		if unicode.IsLetter(rune(digits[i])) && unicode.IsUpper(rune(digits[i])) != (nibble >= '8') {
			return fmt.Errorf("%q: a digit is wrong, or its case: copy the address again; only if you are sure of the digits, write them in lower case", s)
		}
	}
	return nil
}

// checkTogether checks parameters that depend on each other.
func checkTogether(m *scrape.Method, texts map[string][]string) error {
	value := func(name string, otherwise uint64) uint64 {
		if len(texts[name]) == 0 {
			return otherwise
		}
		n, _ := strconv.ParseUint(texts[name][0], 10, 64)
		return n
	}
	const all = ^uint64(0)
	switch size := value("pageSize", 1); {
	case size < 1 || m.MaxPageSize > 0 && size > uint64(m.MaxPageSize):
		return fmt.Errorf("pageSize %d: write 1 to %d", size, m.MaxPageSize)
	case value("startBlock", 0) >= value("endBlock", all):
		return fmt.Errorf("endBlock %d: write a number above startBlock; the range ends before endBlock", value("endBlock", 0))
	case value("startTimestamp", 0) > value("endTimestamp", all):
		return errors.New("startTimestamp is after endTimestamp: swap them")
	case m.Name == ListRewards.Name && len(texts["addresses"])+len(texts["nodeIds"]) == 0:
		return errors.New("write at least one of addresses and nodeIds")
	case m.Name != aggregateSignatures.Name:
	case len(texts["message"]) == len(texts["justification"]):
		return errors.New("write exactly one of message and justification")
	case value("quorumPercentage", defaultQuorum)+value("quorumPercentageBuffer", 0) > 100:
		return fmt.Errorf("quorumPercentage %d and quorumPercentageBuffer %d add up to more than 100: reduce one of them",
			value("quorumPercentage", defaultQuorum), value("quorumPercentageBuffer", 0))
	}
	return nil
}

// defaultQuorum is the service's default percentage.
const defaultQuorum = 67

// textsOf returns a string, a number, true or false, or a list of these, as texts.
func textsOf(value any) (texts []string, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	switch raw := jsontext.Value(text); raw.Kind() {
	case jsontext.KindNull:
	case jsontext.KindString:
		var one string
		if err = json.Unmarshal(raw, &one); one != "" {
			texts = []string{one}
		}
	case jsontext.KindNumber, jsontext.KindTrue, jsontext.KindFalse:
		texts = []string{string(raw)}
	case jsontext.KindBeginArray:
		var many []jsontext.Value
		err = json.Unmarshal(raw, &many)
		for _, v := range many {
			more, err := textsOf(v)
			if err != nil {
				return nil, err
			}
			texts = append(texts, more...)
		}
	default:
		err = errors.New("write a string, a number or a list")
	}
	return texts, err
}

// quote shortens a value and puts it on one line.
func quote(value string) string {
	const maxLength = 80
	if runes := []rune(value); len(runes) > maxLength {
		value = string(runes[:maxLength]) + "…"
	}
	return strconv.Quote(value)
}
