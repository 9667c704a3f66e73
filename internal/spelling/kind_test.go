package spelling_test

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

func TestKindNamesWhatAnIdentifierIs(t *testing.T) {
	for text, want := range map[string]string{
		"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg":                           "a node ID",
		"7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg":                                  "a node ID without its prefix NodeID-",
		"2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM":                 "the ID of a blockchain, a subnet, a validation, an asset or a transaction",
		"11111111111111111111111111111111LpoYY":                              "",
		"0x1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f":                         "an EVM address",
		"0xaf1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f": "a hash of an EVM chain",
		"P-avax1yk0cn6d0jjy4j8y0g5d9v6ev8mhz8ku3dq9zxs":                      "a P-Chain address",
		"avax1yk0cn6d0jjy4j8y0g5d9v6ev8mhz8ku3dq9zxs":                        "an address without its chain, such as P- or X-",
		"43114":            "a number",
		"http://a:9650":    "a URL",
		"10.0.0.1:9650":    "a host and port",
		"examplel1":        "",
		"some_owner-name1": "",
	} {
		if got := spelling.Kind(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
