package spelling

import "regexp"

// kinds are the forms of identifiers, the more special first.
var kinds = []struct {
	form *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`), "a URL"},
	{regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{25,40}$`), "a node ID"},
	{regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`), "an EVM address"},
	{regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`), "a hash of an EVM chain"},
	{regexp.MustCompile(`^P-[a-z]+1[0-9a-z]{30,}$`), "a P-Chain address"},
	{regexp.MustCompile(`^X-[a-z]+1[0-9a-z]{30,}$`), "an X-Chain address"},
	{regexp.MustCompile(`^C-[a-z]+1[0-9a-z]{30,}$`), "an address of the C-Chain in its old form"},
	{regexp.MustCompile(`^(avax|fuji|local|custom)1[0-9a-z]{30,}$`), "an address without its chain, such as P- or X-"},
	{regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{44,52}$`), "the ID of a blockchain, a subnet, a validation, an asset or a transaction"},
	{regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{30,36}$`), "a node ID without its prefix NodeID-"},
	{regexp.MustCompile(`^\d+$`), "a number"},
	{regexp.MustCompile(`^[A-Za-z0-9.-]+:\d+$`), "a host and port"},
}

// Kind returns what a text is, such as "a node ID"; empty if its form says nothing.
func Kind(text string) string {
	for _, k := range kinds {
		if k.form.MatchString(text) {
			return k.name
		}
	}
	return ""
}

// Wrong returns an error's text for a value in a wrong place: the value, what it is, and what to write instead.
func Wrong(value, remedy string) string {
	if kind := Kind(value); kind != "" {
		return `"` + value + `" is ` + kind + ": " + remedy
	}
	return `"` + value + `": ` + remedy
}
