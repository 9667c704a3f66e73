package config

import (
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Bech32 may be written in capitals: AvalancheGo 1.15.0 accepts it. In mixed case it is invalid.
func TestAddressesInCapitalsAreTheSame(t *testing.T) {
	const address = "P-avax1tnuesf6cqwnjw7fxjyk7lhch0vhf0v95wj5jvy"
	capitals := "P-" + strings.ToUpper(address[2:])
	form := itemForm{value: addressForm, remedy: "write it otherwise"}
	for _, list := range []string{capitals, "safe=" + capitals} {
		items := must.Get(form.parse(nil, list))(t)
		if items[0].Value != address || items[0].Name != address && items[0].Name != "safe" {
			t.Errorf("%s: %+v", list, items)
		}
	}
	for _, list := range []string{address + "," + capitals, "P-avax1" + strings.ToUpper(address[7:]), "P-AVAX1"} {
		if _, err := form.parse(nil, list); err == nil {
			t.Errorf("%s is accepted", list)
		}
	}
}
