package data_test

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// The checksums are those of BIP 173, and of the network's own IDs.
func TestChecksumsOfPublishedAddressesAndIDs(t *testing.T) {
	for _, s := range []string{
		"P-avax1h2ccj9f5ay5acl6tyn9mwmw32p8wref8vl8ctg", "X-avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5", "avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5",
		"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "NodeID-111111111111111111116DBWJs", "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM",
		"11111111111111111111111111111111LpoYY", "FvwEAhmxKfeiG8SnEvq42hc6whRyY3EFYAvebMqDNDGCgxN5Z",
	} {
		if err := data.CheckDigits(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		wrong := []byte(s)
		if wrong[len(s)-8]++; wrong[len(s)-8] == '2' || wrong[len(s)-8] > 'y' {
			wrong[len(s)-8] -= 2
		}
		if data.CheckDigits(string(wrong)) == nil && data.CheckAddress(string(wrong)) == nil {
			t.Errorf("%s was accepted", wrong)
		}
	}
}
