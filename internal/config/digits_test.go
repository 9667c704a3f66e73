package config_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

const (
	aNodeID   = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
	fujiP     = "P-fuji1ppppppppppppppppppppppppppppppppu6xwkz"
	bech32    = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	base58    = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	wrongText = "a letter or digit is wrong: copy it again"
)

// Wherever an address or ID is written, one wrong letter or two swapped ones stop the start with an error that names the variable.
func TestWrongDigitOfAnAddressOrIDIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		env     func(value string) config.Environment
		right   string
		digits  string
		visible string // of the error
	}{
		"address":    {func(v string) config.Environment { return config.Environment{"WATCH_ADDRESSES": v} }, watchedP, bech32, "AVAX_WATCH_ADDRESSES"},
		"delegator":  {func(v string) config.Environment { return config.Environment{"WATCH_DELEGATORS": "a=" + v} }, watchedP, bech32, "AVAX_WATCH_DELEGATORS"},
		"asset":      {func(v string) config.Environment { return config.Environment{"WATCH_ASSETS": v} }, watchedID, base58, "AVAX_WATCH_ASSETS"},
		"chain":      {func(v string) config.Environment { return config.Environment{"CHAINS": "L=" + v} }, watchedID, base58, "AVAX_CHAINS"},
		"validator":  {func(v string) config.Environment { return config.Environment{"VALIDATORS": v} }, aNodeID, base58, "AVAX_VALIDATORS"},
		"signatures": {withData("WATCH_SIGNATURES", "p="), watchedID, base58, "AVAX_WATCH_SIGNATURES"},
		"watch file": {func(v string) config.Environment {
			return config.Environment{"WATCH_FILE": testworld.File(t, "delegators: {a: "+v+"}")}
		}, watchedP, bech32, "AVAX_WATCH_FILE"},
		"validators file": {func(v string) config.Environment {
			return config.Environment{"VALIDATORS_FILE": testworld.File(t, v+": {owner: x}")}
		}, aNodeID, base58, "AVAX_VALIDATORS_FILE"},
	} {
		if _, err := c.env(c.right).Parse(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rapid.Check(t, func(r *rapid.T) {
			at := rapid.IntRange(len(c.right)-30, len(c.right)-1).Draw(r, "position")
			digit := rapid.SampledFrom([]byte(c.digits)).Draw(r, "digit")
			if c.right[at] == digit {
				return
			}
			wrong := c.right[:at] + string(digit) + c.right[at+1:]
			_, err := c.env(wrong).Parse()
			if err == nil || !strings.Contains(err.Error(), c.visible+": ") || !strings.Contains(err.Error(), wrongText) {
				r.Fatalf("%s: %s: %v", name, wrong, err)
			}
		})
	}
}

func withData(variable, before string) func(string) config.Environment {
	return func(v string) config.Environment {
		return config.Environment{variable: before + v, "DATA_URL": "https://data-api.avax.network"}
	}
}

// An address of Fuji is not monitored on Mainnet, and addresses of two networks are not monitored together.
func TestAddressesBelongToOneNetwork(t *testing.T) {
	for _, c := range []struct {
		network, addresses, delegators string
		wrong                          string
	}{
		{"mainnet", watchedP, watchedP, ""},
		{"fuji", fujiP, fujiP, ""},
		{"5", fujiP, "", ""},
		{"", fujiP, "", ""},
		{"mainnet", fujiP, "", "AVAX_WATCH_ADDRESSES: "},
		{"mainnet", "", fujiP, "AVAX_WATCH_DELEGATORS: "},
		{"fuji", watchedP, "", "AVAX_WATCH_ADDRESSES: "},
		{"1337", watchedP, "", "AVAX_WATCH_ADDRESSES: "},
		{"", watchedP + "," + fujiP, "", "AVAX_WATCH_ADDRESSES: "},
		{"", watchedP, fujiP, "AVAX_WATCH_DELEGATORS: "},
	} {
		_, err := config.Environment{"NETWORK": c.network, "WATCH_ADDRESSES": c.addresses, "WATCH_DELEGATORS": c.delegators}.Parse()
		if (err == nil) != (c.wrong == "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), "is an address of ")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
