package data

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// The networks. Fuji and Testnet are the same network.
const (
	Mainnet = "mainnet"
	Fuji    = "fuji"
	Testnet = "testnet"
)

// The sort orders of a list.
const (
	Ascending  = "asc"
	Descending = "desc"
)

// USD is the default currency of values.
const USD = "usd"

var currencies = []string{USD, "eur", "aud", "cad", "chf", "clp", "cny", "czk", "dkk", "gbp", "hkd", "huf", "jpy", "nzd"}

// Currencies returns the currencies in which the service can give values.
func Currencies() []string { return slices.Clone(currencies) }

// request is a request that is being built. It is sent only if all parameters are valid.
type request struct {
	*Endpoint
	path  string // Endpoint.Path with the values that were filled in so far
	query url.Values
	wrong error // first invalid parameter
}

func newRequest(e *Endpoint) *request { return &request{e, e.Path, url.Values{}, nil} }

// want stores an error unless ok is true.
func (q *request) want(ok bool, format string, args ...any) {
	if !ok && q.wrong == nil {
		q.wrong = fmt.Errorf(format, args...)
	}
}

// fill puts a value into the path. The error for an invalid value contains the example.
func (q *request) fill(name, value, example string) {
	q.want(fits(value) && value != "." && value != "..", "%s %s: write %s", name, quote(value), example)
	q.path = strings.ReplaceAll(q.path, "{"+name+"}", url.PathEscape(value))
}

// fits reports whether a value is a single word and can be a parameter.
func fits(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// quote shortens a value and puts it on one line.
func quote(value string) string {
	const maxLength = 80
	if runes := []rune(value); len(runes) > maxLength {
		value = string(runes[:maxLength]) + "…"
	}
	return strconv.Quote(value)
}

func (q *request) network(value string) {
	q.want(isNetwork(value), "network %s: write mainnet, fuji or testnet", quote(value))
	q.path = strings.ReplaceAll(q.path, "{network}", value)
}

func isNetwork(value string) bool { return value == Mainnet || value == Fuji || value == Testnet }

func (q *request) chain(id string) {
	q.fill("chainId", id, "the number of an EVM chain such as 43114, or its blockchain ID")
}

func (q *request) address(value string) { q.fill("address", value, "an address such as 0x1f…") }

// set adds a parameter. An empty value means the service's default.
func (q *request) set(name, value string) {
	if value != "" {
		q.query.Set(name, value)
	}
}

func (q *request) setNumber(name string, value *uint64) {
	if value != nil {
		q.query.Set(name, strconv.FormatUint(*value, 10))
	}
}

func (q *request) sort(order string) {
	q.want(order == "" || order == Ascending || order == Descending, "sortOrder %s: write asc or desc", quote(order))
	q.set("sortOrder", order)
}

func (q *request) currency(code string) {
	q.want(code == "" || slices.Contains(currencies, code), "currency %s: write one of %s", quote(code), strings.Join(currencies, ", "))
	q.set("currency", code)
}

// page adds the page parameters.
func (q *request) page(p Paging, token string) {
	q.want(p.PageSize >= 0 && p.PageSize <= q.MaxPageSize, "pageSize %d: write 1 to %d", p.PageSize, q.MaxPageSize)
	if p.PageSize != 0 {
		q.query.Set("pageSize", strconv.Itoa(p.PageSize))
	}
	q.set("pageToken", token)
}

// blocks adds a range of blocks. The range contains StartBlock, but not EndBlock.
func (q *request) blocks(r BlockRange) {
	if r.StartBlock != nil && r.EndBlock != nil {
		q.want(*r.StartBlock < *r.EndBlock, "endBlock %d: write a number above startBlock (%d); the range ends before endBlock", *r.EndBlock, *r.StartBlock)
	}
	q.setNumber("startBlock", r.StartBlock)
	q.setNumber("endBlock", r.EndBlock)
}

// times adds a range of time; a zero time means no limit.
func (q *request) times(start, end time.Time) {
	q.want(start.IsZero() || end.IsZero() || !end.Before(start), "startTimestamp is after endTimestamp: swap them")
	q.setTime("startTimestamp", start)
	q.setTime("endTimestamp", end)
}

func (q *request) setTime(name string, at time.Time) {
	if !at.IsZero() {
		q.want(at.Unix() >= 0, "%s %s: write a time after 1970", name, at.Format(time.RFC3339))
		q.query.Set(name, strconv.FormatInt(at.Unix(), 10))
	}
}

func (q *request) contract(address string) {
	q.want(address == "" || fits(address), "contractAddress %s: write an address such as 0x1f…", quote(address))
	q.set("contractAddress", address)
}

var (
	evmAddress     = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	primaryAddress = regexp.MustCompile(`^([PX]-)?[a-z]+1[0-9a-z]+$`)
	nodeID         = regexp.MustCompile(`^NodeID-[0-9A-Za-z]+$`)
	blockID        = regexp.MustCompile(`^([0-9]+|0x[0-9a-fA-F]{64})$`)
	idOrHex        = regexp.MustCompile(`^[0-9A-Za-z]+$`)
	hexBytes       = regexp.MustCompile(`^(0x)?([0-9a-fA-F]{2})+$`)
)

// refusal returns the error of a request that is not sent.
func (q *request) refusal() error {
	if q.wrong == nil {
		return nil
	}
	return &scrape.Error{Op: q.Op(), Outcome: scrape.Rejected, Err: q.wrong}
}

func get[T any](ctx context.Context, c *Client, q *request) (T, error) {
	if err := q.refusal(); err != nil {
		var none T
		return none, err
	}
	answer, err := scrape.Get[T](ctx, c.u, q.Op(), q.path, q.query)
	return answer, c.Explain(err)
}

func post[T any](ctx context.Context, c *Client, q *request, body any) (T, error) {
	if err := q.refusal(); err != nil {
		var none T
		return none, err
	}
	answer, err := scrape.Post[T](ctx, c.u, q.Op(), q.path, body)
	return answer, c.Explain(err)
}
