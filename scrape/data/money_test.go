package data_test

import (
	"math"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// An amount counts only in the requested currency, and only if a price can have this value.
func TestAmountInAnotherCurrencyIsRejected(t *testing.T) {
	for _, c := range []struct {
		code  string
		value float64
		asked string
		right bool
	}{
		{"usd", 21.5, "usd", true}, {"USD", 21.5, "usd", true}, {"usd", 0, "", true}, {"clp", 24_000, "clp", true},
		{"eur", 21.5, "usd", false}, {"eur", 21.5, "", false}, {"", 21.5, "usd", false}, {"usd", -1, "usd", false}, {"usd", 1e300, "usd", false},
		{"usd", math.NaN(), "usd", false}, {"usd", math.Inf(1), "usd", false},
	} {
		value, err := data.Money{CurrencyCode: c.code, Value: wire.Float(c.value)}.In(c.asked)
		if (err == nil) != c.right || c.right && value != c.value || !c.right && strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, %v", c, value, err)
		}
	}
}
