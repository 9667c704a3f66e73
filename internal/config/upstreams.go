package config

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	httpconfig "github.com/prometheus/common/config"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Node is a configured node with its credentials.
type Node struct {
	Name string
	URL  string // with user and password, if the list of nodes contains them
	// Observer marks a public node of another operator. The exporter sends it only calls about the network.
	Observer bool
	Labels   Labels
	Access
}

// Same reports whether both nodes have the same name, role, URL and Host. Their credentials may differ.
func (n Node) Same(o Node) bool {
	return n.Name == o.Name && n.URL == o.URL && n.Observer == o.Observer && n.Host == o.Host
}

// Access is what requests to an upstream carry.
type Access struct {
	Host   string      // Host header instead of the URL's
	Header http.Header // including Authorization
	// TLS is nil without TLS settings. Equal settings have the same pointer, for all upstreams and reloads.
	TLS *tls.Config
}

// SameCredentials reports whether both send the same headers and use the same TLS settings.
func (a Access) SameCredentials(o Access) bool {
	return a.TLS == o.TLS && maps.EqualFunc(a.Header, o.Header, slices.Equal)
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ValidName reports whether s is valid as a label value and in a list.
func ValidName(s string) bool { return nameForm.MatchString(s) }

// services are the upstreams that are no nodes.
var services = map[string]string{
	"discovery": "the URL of AVAX_NODES_FILE",
	"data":      "the Data service", "metrics": "the Metrics service", "alertmanager": "the Alertmanagers", "prometheus": "the Prometheus",
}

// Upstreams are the nodes, the labels, the watch list and the credentials of a configuration. They are reloaded at runtime.
type Upstreams struct {
	Nodes      []Node // including observers
	Validators []labelled
	Services   map[string]Access                       // data and metrics
	Watch      collector.Watchlist                     // what is monitored in addition to nodes
	HTTP       map[string]*httpconfig.HTTPClientConfig // alertmanager, prometheus and discovery, if configured
	Unused     []string                                // names and patterns of AVAX_HTTP_CONFIG_FILE that no upstream uses
}

// ServiceNames returns the names of the upstreams that are no nodes, for AVAX_HTTP_CONFIG_FILE.
func ServiceNames() []string { return slices.Sorted(maps.Keys(services)) }

// ReadUpstreams reads all files of nodes, validators, the watch list and credentials. The error joins all problems, each with its place and a remedy.
// No error contains the content of a file with credentials.
func (c *Config) ReadUpstreams() (Upstreams, error) {
	r := &reader{checks: checks{Config: c}, contents: map[string]content{}, tls: c.tls, used: map[httpconfig.TLSConfig]*tls.Config{}}
	u := Upstreams{Nodes: slices.Clone([]Node(c.Nodes)), Services: map[string]Access{}, HTTP: map[string]*httpconfig.HTTPClientConfig{}}
	u.Watch = r.watchlist()
	reserved, taken := c.reservedNames(u.Watch), map[string]bool{}
	for _, n := range c.Nodes {
		r.note(&c.Nodes, check(n, reserved))
		taken[n.Name] = true
	}
	for _, o := range c.Observers {
		r.note(&c.Observers, check(o, reserved))
		if taken[o.Name] {
			r.note(&c.Observers, fmt.Errorf("duplicate name %q: a node has this name too: rename the observer", o.Name))
		}
		taken[o.Name], o.Observer = true, true
		u.Nodes = append(u.Nodes, o)
	}
	entries := r.httpFile(c.HTTPConfigFile)
	c.setNodesAccess(nil)
	if i := slices.IndexFunc(entries, func(e httpEntry) bool { return e.matches("discovery", false) }); i >= 0 {
		c.setNodesAccess(&entries[i].HTTP)
	}
	if c.NodesFile != "" {
		for _, t := range r.nodesFile(c.NodesFile) {
			if err := check(t.Node, reserved); err != nil {
				r.noteAt(&c.NodesFile, t.place, err)
			} else if taken[t.Name] {
				r.noteAt(&c.NodesFile, t.place, fmt.Errorf("duplicate node name %q: give each node its own group with the label node", t.Name))
			}
			taken[t.Name] = true
			u.Nodes = append(u.Nodes, t.Node)
		}
	}
	if c.ValidatorsFile != "" {
		u.Validators = r.validatorsFile(c.ValidatorsFile)
	}
	r.credentials(&u, entries)
	c.sums = r.sums()
	if len(r.problems) > 0 {
		return Upstreams{}, errors.Join(r.problems...)
	}
	c.tls = r.used
	return u, nil
}

// check validates the name of a node, which may not be a reserved one, and its address.
func check(n Node, reserved map[string]string) error {
	if has := reserved[n.Name]; has != "" {
		return fmt.Errorf("duplicate name %q: it is the name of %s: rename one of them", n.Name, has)
	}
	if err := scrape.CheckURL(n.URL); err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	if u, err := url.Parse(n.URL); err == nil && strings.Contains(u.Path+"/", "/ext/") {
		return fmt.Errorf("%s: the exporter adds /ext/… to the address: write it without /ext, such as %s://%s", n.Name, u.Scheme, u.Host)
	}
	return nil
}

// reader is one pass over all files.
type reader struct {
	checks
	contents  map[string]content
	tls, used map[httpconfig.TLSConfig]*tls.Config
}

// content is the content of a file, or the error of reading it.
type content struct {
	data []byte
	err  error
}

// sums returns the digests of the files by path; zero for an unreadable file.
func (r *reader) sums() map[string][sha256.Size]byte {
	sums := map[string][sha256.Size]byte{}
	for path, c := range r.contents {
		sums[path] = [sha256.Size]byte{}
		if c.err == nil {
			sums[path] = sha256.Sum256(c.data)
		}
	}
	return sums
}

// open reads a file once.
func (r *reader) open(path string) ([]byte, error) {
	c, known := r.contents[path]
	if !known && isURL(path) && r.Config != nil && path == r.NodesFile {
		c = r.listedNodes()
		r.contents[path] = c
	} else if !known {
		c.data, c.err = files.Read(path)
		if c.err != nil {
			c.err = fmt.Errorf("%w: write the path of a file that this user may read", c.err)
		}
		r.contents[path] = c
	}
	return c.data, c.err
}
