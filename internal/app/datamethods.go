package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// beyondPath lists the parameters of each endpoint that are not in its path.
var beyondPath = map[string][]string{
	"AggregateSignatures":  {"message?", "justification?", "signingSubnetId?", "quorumPercentage?", "quorumPercentageBuffer?", "pChainHeight?"},
	"AssetTransactions":    {"txTypes?", "startTimestamp?", "endTimestamp?", "pageToken?", "pageSize?"},
	"Blockchains":          {"pageToken?", "pageSize?", "sortOrder?"},
	"Rewards":              {"addresses?", "nodeIds?", "pageToken?", "pageSize?", "sortOrder?", "currency?"},
	"ERC721Transfers":      {"startBlock?", "endBlock?", "pageToken?", "pageSize?"},
	"InternalTransactions": {"startBlock?", "endBlock?", "pageToken?", "pageSize?"},
	"ERC1155Balances":      {"blockNumber?", "pageToken?", "pageSize?", "contractAddress?"},
	"ERC721Balances":       {"pageToken?", "pageSize?", "contractAddress?"},
	"Collectibles":         {"pageToken?", "pageSize?", "contractAddress?"},
	"NativeBalance":        {"blockNumber?", "currency?"},
	"Deployments":          {"pageToken?", "pageSize?"},
	"ICMMessages":          {"pageToken?", "pageSize?", "network?"},
}

// effects describes what a call does, for calls that do more than read.
var effects = map[string]string{
	"AggregateSignatures": "make the validators sign a message",
	"Reindex":             "make the service read the token's metadata again, at most once an hour",
}

// dataMethods returns the endpoints of the Data service as methods, in the documented order. All parameters of a method are
// members of one object.
func dataMethods() []node.Method {
	var all []node.Method
	for _, e := range data.Endpoints() {
		var params []string
		for part := range strings.SplitSeq(e.Path, "/") {
			if _, after, ok := strings.Cut(part, "{"); ok {
				name, _, _ := strings.Cut(after, "}")
				if name == "network" {
					name += "?" // default: that of the nodes
				}
				params = append(params, name)
			}
		}
		all = append(all, node.Method{
			Name: "data." + lowerFirst(e.Name), Path: e.Path, Params: append(params, beyondPath[e.Name]...), Changes: effects[e.Name],
		})
	}
	return all
}

// lowerFirst converts the first word of a name to lower case, even if it is an abbreviation: icmMessages, erc721Balances.
func lowerFirst(name string) string {
	n := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsUpper(r) })
	if n > 1 && unicode.IsLower(rune(name[n])) {
		n-- // the last capital letter starts the next word
	}
	return strings.ToLower(name[:n]) + name[n:]
}

// endpointOf returns the endpoint of a method of dataMethods, and nil for any other method.
func endpointOf(m node.Method) *data.Endpoint {
	for _, e := range data.Endpoints() {
		if e.Path == m.Path {
			return &e
		}
	}
	return nil
}

// call calls an endpoint and returns the answer unchanged, or nil if the answer is empty. An answer that the typed client cannot
// decode is an error. If the parameters have no network, call uses the result of network.
func (s *dataService) call(ctx context.Context, e *data.Endpoint, network func(context.Context) (string, error), params jsontext.Value) (jsontext.Value, error) {
	given := map[string]jsontext.Value{}
	if params != nil {
		if err := json.Unmarshal(params, &given); err != nil {
			return nil, err
		}
	}
	if strings.Contains(e.Path, "{network}") && given["network"] == nil {
		name, err := network(ctx)
		if err != nil {
			return nil, err
		}
		given["network"] = jsontext.Value(`"` + name + `"`)
	}
	path, query := e.Path, url.Values{}
	for name, value := range given {
		texts, err := textsOf(value)
		if err != nil {
			return nil, config.InputError{Err: fmt.Errorf("call: parameter %q: %w", name, err)}
		}
		inPath := "{" + name + "}"
		switch {
		case strings.Contains(path, inPath):
			path = strings.ReplaceAll(path, inPath, url.PathEscape(strings.Join(texts, ",")))
			delete(given, name)
		case name == "txTypes": // the only list that is not sent as one value with commas
			query[name] = texts
		default:
			query.Set(name, strings.Join(texts, ","))
		}
	}
	var answer jsontext.Value
	var err error
	switch {
	case e.Method == http.MethodGet:
		answer, err = scrape.Get[jsontext.Value](ctx, s.up, e.Op(), path, query)
	case len(given) > 0:
		answer, err = scrape.Post[jsontext.Value](ctx, s.up, e.Op(), path, given)
	default:
		answer, err = scrape.Post[jsontext.Value](ctx, s.up, e.Op(), path, nil)
	}
	if err == nil {
		err = e.Check(ctx, answer)
	}
	return answer, s.Explain(err)
}

// textsOf parses a string, a number, or a list of these.
func textsOf(value jsontext.Value) ([]string, error) {
	var one string
	var many []jsontext.Value
	switch {
	case json.Unmarshal(value, &one) == nil:
		return []string{one}, nil
	case value.Kind() == jsontext.KindNumber:
		return []string{value.String()}, nil
	case json.Unmarshal(value, &many) != nil || many == nil:
		return nil, errors.New("write a string, a number or a list")
	}
	var all []string
	for _, v := range many {
		texts, err := textsOf(v)
		if err != nil {
			return nil, err
		}
		all = append(all, texts...)
	}
	return all, nil
}
