package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

const (
	watchedEVM   = "0x00000000000000000000000000000000000000aa"
	watchedP     = "P-avax1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqxpdk7q"
	watchedID    = "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM"
	anotherEVM   = "0x00000000000000000000000000000000000000bb"
	anotherOne   = "P-avax1ppppppppppppppppppppppppppppppppsgz36a"
	watchedNames = "addresses: {treasury: " + watchedP + ", relayer: '" + watchedEVM + "'}\n" +
		"delegators: {fund: " + watchedP + "}\nassets: {token: " + watchedID + "}\ncontracts: {deployer: '" + watchedEVM + "'}\n" +
		"tokens: {ticket: C/" + watchedEVM + "/7}\nsignatures: {conversion: " + watchedID + "}\n"
)

// The file lists what the variables list, and both count.
func TestWatchFileAddsToTheVariables(t *testing.T) {
	env := config.Environment{
		"WATCH_FILE": testworld.File(t, watchedNames), "WATCH_ADDRESSES": anotherOne + ",hot=" + anotherEVM, "WATCH_DELEGATORS": "other=" + anotherOne,
		"DATA_URL": "https://data-api.avax.network",
	}
	c, err := env.Parse()
	if err != nil {
		t.Fatal(err)
	}
	want := collector.Watchlist{
		Addresses: []collector.Item{{Name: anotherOne, Value: anotherOne}, {Name: "treasury", Value: watchedP}},
		EVM:       []collector.Item{{Name: "hot", Value: anotherEVM}, {Name: "relayer", Value: watchedEVM}},
		Assets:    []collector.Item{{Name: "token", Value: watchedID}}, Contracts: []collector.Item{{Name: "deployer", Value: watchedEVM}},
		Delegators: []collector.Item{{Name: "other", Value: anotherOne}, {Name: "fund", Value: watchedP}},
		Tokens:     []collector.Token{{Name: "ticket", Chain: "C", Contract: watchedEVM, ID: "7"}}, Signatures: []collector.Item{{Name: "conversion", Value: watchedID}},
	}
	if diff := cmp.Diff(want, c.Upstreams.Watch); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if env["WATCH_FILE"] = testworld.File(t, "addresses:\ntokens: {}\n"); true {
		if c, err = env.Parse(); err != nil || len(c.Upstreams.Watch.Addresses) != 1 {
			t.Errorf("%v, %v", c, err)
		}
	}
}

// An error has the line, and says what to write.
func TestWatchFileErrorsHaveTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "line 1: the file is empty",
		"[]":                                  "line 1: unexpected value: write sections",
		"adresses: {}":                        "line 1: adresses: unknown section: write sections (addresses, delegators",
		"addresses: [" + watchedP + "]":       "line 1: addresses: write entries name: value",
		"addresses:\n  a: x":                  `line 2: addresses: "x": write addresses with their chain`,
		"addresses:\n  a b: " + watchedP:      `line 2: addresses: "a b": a name consists of`,
		"addresses:\n  a: [" + watchedP + "]": "line 2: addresses: a: write one value",
		"addresses:\n  a: P-avax1, P-avax1":   "line 2: addresses: a: write one value",
		"addresses:\n  a: " + watchedP + "\n  b: " + watchedP: "line 3: addresses: duplicate " + watchedP + ": remove one",
		"addresses:\n  first: " + watchedP:                    "line 2: addresses: duplicate name \"first\": rename one of them",
		"addresses:\n  a: " + anotherOne:                      "line 2: addresses: duplicate " + anotherOne + ": remove one",
		"delegators:\n  a: " + watchedEVM:                     "line 2: delegators: \"" + watchedEVM + "\" is an EVM address: write P-Chain addresses",
		"contracts:\n  a: '" + watchedEVM + "'":               "contracts: needs the Data service: set AVAX_DATA_URL",
		"signatures:\n  a: " + watchedID:                      "signatures: needs the Data service",
		"assets:\n  a: x":                                     "line 2: assets: \"x\": write asset IDs",
		"tokens:\n  a: X/" + watchedEVM + "/1":                "needs the Data service",
		"addresses:\n  a: " + watchedP + "\n---":              "the file continues",
	} {
		_, err := config.Environment{"WATCH_FILE": testworld.File(t, text), "WATCH_ADDRESSES": "first=" + anotherOne}.Parse()
		if told := fmt.Sprint(err); !strings.Contains(told, want) || !strings.Contains(told, "AVAX_WATCH_FILE: ") || strings.Count(told, "\n") > 2 {
			t.Errorf("%q: %s, want %s", text, told, want)
		}
	}
	_, err := config.Environment{"WATCH_FILE": "missing.yml"}.Parse()
	if told := fmt.Sprint(err); !strings.Contains(told, "AVAX_WATCH_FILE: open missing.yml: no such file or directory: write the path of a file") {
		t.Error(told)
	}
}
