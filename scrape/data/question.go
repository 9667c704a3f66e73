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

// The networks. Fuji and Testnet mean the same one.
const (
	Mainnet = "mainnet"
	Fuji    = "fuji"
	Testnet = "testnet"
)

// The orders of a list.
const (
	Ascending  = "asc"
	Descending = "desc"
)

// USD is the currency of values where none is asked for.
const USD = "usd"

var currencies = []string{USD, "eur", "aud", "cad", "chf", "clp", "cny", "czk", "dkk", "gbp", "hkd", "huf", "jpy", "nzd"}

// Currencies lists the currencies in which the service can tell what something is worth.
func Currencies() []string { return slices.Clone(currencies) }

// question is a request in the making. It is sent only if nothing in it is wrong.
type question struct {
	*Endpoint
	path  string // what has been filled in so far
	query url.Values
	wrong error // the first thing that is
}

func ask(e *Endpoint) *question { return &question{e, e.Path, url.Values{}, nil} }

// want notes what is wrong unless ok holds.
func (q *question) want(ok bool, format string, args ...any) {
	if !ok && q.wrong == nil {
		q.wrong = fmt.Errorf(format, args...)
	}
}

// fill puts a value into the path; like says what to write instead of one that cannot be meant.
func (q *question) fill(name, value, like string) {
	q.want(fits(value) && value != "." && value != "..", "%s %s: write %s", name, quote(value), like)
	q.path = strings.ReplaceAll(q.path, "{"+name+"}", url.PathEscape(value))
}

// fits tells whether a value is one word.
func fits(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// quote keeps a value short and on one line.
func quote(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "…"
	}
	return strconv.Quote(value)
}

func (q *question) network(value string) {
	q.want(isNetwork(value), "network %s: write mainnet, fuji or testnet", quote(value))
	q.path = strings.ReplaceAll(q.path, "{network}", value)
}

func isNetwork(value string) bool { return value == Mainnet || value == Fuji || value == Testnet }

func (q *question) chain(id string) {
	q.fill("chainId", id, "the number of an EVM chain such as 43114, or its blockchain ID")
}

func (q *question) address(value string) { q.fill("address", value, "an address such as 0x1f…") }

// set adds a parameter, unless the value is empty, which leaves it to the service.
func (q *question) set(name, value string) {
	if value != "" {
		q.query.Set(name, value)
	}
}

func (q *question) setNumber(name string, value *uint64) {
	if value != nil {
		q.query.Set(name, strconv.FormatUint(*value, 10))
	}
}

func (q *question) sort(order string) {
	q.want(order == "" || order == Ascending || order == Descending, "sortOrder %s: write asc or desc", quote(order))
	q.set("sortOrder", order)
}

func (q *question) currency(code string) {
	q.want(code == "" || slices.Contains(currencies, code), "currency %s: write one of %s", quote(code), strings.Join(currencies, ", "))
	q.set("currency", code)
}

// page adds which page is wanted.
func (q *question) page(p Paging, token string) {
	q.want(p.PageSize >= 0 && p.PageSize <= q.MaxPageSize, "pageSize %d: write 1 to %d", p.PageSize, q.MaxPageSize)
	if p.PageSize != 0 {
		q.query.Set("pageSize", strconv.Itoa(p.PageSize))
	}
	q.set("pageToken", token)
}

// blocks adds a range of which the first is in and the last is not.
func (q *question) blocks(r BlockRange) {
	if r.StartBlock != nil && r.EndBlock != nil {
		q.want(*r.StartBlock < *r.EndBlock, "endBlock %d: write a number above startBlock, which is %d; endBlock itself is not in the range", *r.EndBlock, *r.StartBlock)
	}
	q.setNumber("startBlock", r.StartBlock)
	q.setNumber("endBlock", r.EndBlock)
}

// times adds a range of time, open where a moment is zero.
func (q *question) times(start, end time.Time) {
	q.want(start.IsZero() || end.IsZero() || !end.Before(start), "startTimestamp lies after endTimestamp: swap them")
	q.setTime("startTimestamp", start)
	q.setTime("endTimestamp", end)
}

func (q *question) setTime(name string, at time.Time) {
	if !at.IsZero() {
		q.want(at.Unix() >= 0, "%s %s: write a time after 1970", name, at.Format(time.RFC3339))
		q.query.Set(name, strconv.FormatInt(at.Unix(), 10))
	}
}

func (q *question) contract(address string) {
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

// refusal is the error of a question that is not sent.
func (q *question) refusal() error {
	if q.wrong == nil {
		return nil
	}
	return &scrape.Error{Op: q.Op(), Outcome: scrape.Rejected, Err: q.wrong}
}

func get[T any](ctx context.Context, c *Client, q *question) (T, error) {
	if err := q.refusal(); err != nil {
		var none T
		return none, err
	}
	answer, err := scrape.Get[T](ctx, c.u, q.Op(), q.path, q.query)
	return answer, c.Explain(err)
}

func post[T any](ctx context.Context, c *Client, q *question, body any) (T, error) {
	if err := q.refusal(); err != nil {
		var none T
		return none, err
	}
	answer, err := scrape.Post[T](ctx, c.u, q.Op(), q.path, body)
	return answer, c.Explain(err)
}
