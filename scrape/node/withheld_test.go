package node_test

import (
	"errors"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

func TestIsWithheld(t *testing.T) {
	status := func(outcome scrape.Outcome, code int) error {
		return &scrape.Error{Op: "platform.getHeight", Outcome: outcome, Err: &scrape.StatusError{Status: code}}
	}
	rpc := func(code int) error {
		return &scrape.Error{Op: "platform.getHeight", Outcome: scrape.Rejected, Err: &scrape.RPCError{Code: code}}
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"401":                  {status(scrape.Forbidden, 401), true},
		"403":                  {status(scrape.Forbidden, 403), true},
		"404":                  {status(scrape.NotFound, 404), true},
		"405":                  {status(scrape.Rejected, 405), true},
		"unknown method":       {rpc(-32601), true},
		"method not supported": {rpc(-32004), true},
		"400":                  {status(scrape.Rejected, 400), false},
		"413":                  {status(scrape.Rejected, 413), false},
		"429":                  {status(scrape.RateLimited, 429), false},
		"502":                  {status(scrape.Unavailable, 502), false},
		"invalid parameters":   {rpc(-32602), false},
		"server error":         {rpc(-32000), false},
		"another error":        {errors.New("broken"), false},
	} {
		if got := node.IsWithheld(c.err); got != c.want {
			t.Errorf("%s: withheld %v, want %v", name, got, c.want)
		}
	}
}
