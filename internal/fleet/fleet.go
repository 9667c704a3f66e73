// Package fleet reads the configured nodes and their credentials, from a list and from a file in
// Prometheus' file_sd format. It reloads the contents of files at runtime. Secrets are in files only.
package fleet

import (
	"cmp"
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

	"github.com/avax-exporter/avax-exporter/internal/regular"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Node is a node as it is configured, with its credentials.
type Node struct {
	Name string
	URL  string // with user and password where the list of nodes gives them
	// Observer means that it is not a node of yours: it answers only questions about the network.
	Observer bool
	Host     string      // Host header in place of the URL's
	Header   http.Header // Authorization included
	// TLS is nil where nothing is configured. Equal contents of its files have
	// the same pointer, over all nodes and readings.
	TLS *tls.Config

	access Access // where all of it stands
}

// Same reports whether both are the same entry: name, role, URL, Host and the paths of its files. The
// contents of the files may differ.
func (n Node) Same(o Node) bool {
	return n.Name == o.Name && n.URL == o.URL && n.Observer == o.Observer && n.access == o.access
}

// SameCredentials reports whether the contents of the files are equal, too.
func (n Node) SameCredentials(o Node) bool {
	return n.TLS == o.TLS && maps.EqualFunc(n.Header, o.Header, slices.Equal)
}

// Access says how nodes let the exporter in. Its fields are the variables
// fields of Access, and the labels __host__, … of the file.
type Access struct {
	Host          string
	HeadersFile   string // lines of Name: value
	BearerFile    string // a token
	BasicAuthFile string // user:password
	CAFile        string // PEM, in place of the system's authorities
	CertFile      string // PEM, the certificate that the nodes ask for
	KeyFile       string // PEM
}

// setting is a field of Access.
type setting struct {
	name string
	of   func(*Access) *string
}

var settings = []setting{
	{"host", func(a *Access) *string { return &a.Host }},
	{"headers_file", func(a *Access) *string { return &a.HeadersFile }},
	{"bearer_file", func(a *Access) *string { return &a.BearerFile }},
	{"basic_auth_file", func(a *Access) *string { return &a.BasicAuthFile }},
	{"ca_file", func(a *Access) *string { return &a.CAFile }},
	{"cert_file", func(a *Access) *string { return &a.CertFile }},
	{"key_file", func(a *Access) *string { return &a.KeyFile }},
}

func (s setting) label() string { return "__" + s.name + "__" }

// over returns the access of a node that says a for itself, where all the
// others say general. A token and a password are one thing, and so are a
// certificate and its key: whoever says one part for itself says all of it.
func (a Access) over(general Access, hasUser bool) Access {
	if a.BearerFile != "" || a.BasicAuthFile != "" || hasUser {
		general.BearerFile, general.BasicAuthFile = "", ""
	}
	if a.CertFile != "" || a.KeyFile != "" {
		general.CertFile, general.KeyFile = "", ""
	}
	for _, s := range settings {
		*s.of(&a) = cmp.Or(*s.of(&a), *s.of(&general))
	}
	return a
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ValidName reports whether s is valid as a label value and in a list.
func ValidName(s string) bool { return nameForm.MatchString(s) }

// Source is the configuration of nodes. The zero value has none.
type Source struct {
	Nodes  []Node // with name and URL
	File   string // of more nodes, or empty
	Access Access // of all nodes that say nothing else; never of an observer
	// Name is what the operator calls a setting in errors: nodes, nodes_file, or a
	// field of Access such as ca_file; nil: as it is.
	Name func(setting string) string
	// Reserved are names that no node may have, with what has them.
	Reserved map[string]string

	files map[string]content                // that the last reading looked at
	tls   map[[sha256.Size]byte]*tls.Config // that it made, by contents
}

// called is what the operator calls a setting.
func (s *Source) called(setting string) string {
	if s.Name == nil {
		return setting
	}
	return s.Name(setting)
}

// Read reads the file and all that it names. Its error joins every problem,
// each in words that name the place and say what to write; none shows what
// stands in a file.
func (s *Source) Read() ([]Node, error) {
	r := &reading{
		called: s.called, files: map[string]content{}, made: map[Access]credentials{},
		tls: map[[sha256.Size]byte]*tls.Config{}, knownTLS: s.tls,
	}
	taken := map[string]bool{}
	for _, n := range s.Nodes {
		err := s.check(n)
		if taken[n.Name] {
			err = fmt.Errorf("duplicate name %q: it is also that of a node: rename the observer", n.Name)
		}
		if err != nil {
			r.problem(0, "%s: %w", s.called(n.setting()), err)
		}
		taken[n.Name] = true
	}
	for _, p := range r.credentials(s.Access).problems {
		r.problem(0, "%s: %w", s.called(p.setting.name), p.err)
	}
	var nodes []Node
	for _, n := range s.Nodes {
		nodes = append(nodes, r.node(n, Access{}, s.accessOf(n), nil))
	}
	if s.File != "" {
		nodes = r.file(s, nodes)
	}
	s.files = r.files
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b lined) int { return a.line - b.line })
		errs := make([]error, len(r.problems))
		for i, p := range r.problems {
			errs[i] = p.error
		}
		return nil, errors.Join(errs...)
	}
	s.tls = r.tls
	return nodes, nil
}

// setting is where the lists have it.
func (n Node) setting() string {
	if n.Observer {
		return "observers"
	}
	return "nodes"
}

// accessOf is the access of a node that says nothing else. An observer, which is
// somebody else's, is not shown what the nodes are.
func (s *Source) accessOf(n Node) Access {
	if n.Observer {
		return Access{}
	}
	return s.Access
}

// check checks a node's name and address.
func (s *Source) check(n Node) error {
	if has := s.Reserved[n.Name]; has != "" {
		return fmt.Errorf("duplicate name %q: it is also that of %s: rename the node", n.Name, has)
	}
	if err := scrape.CheckURL(n.URL); err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	if u, err := url.Parse(n.URL); err == nil && strings.Contains(u.Path+"/", "/ext/") {
		return fmt.Errorf("%s: the exporter itself adds /ext and what follows: write the address without, such as %s://%s", n.Name, u.Scheme, u.Host)
	}
	return nil
}

// reading is one look at everything.
type reading struct {
	called   func(setting string) string
	files    map[string]content
	made     map[Access]credentials
	tls      map[[sha256.Size]byte]*tls.Config
	knownTLS map[[sha256.Size]byte]*tls.Config
	problems []lined
}

// lined is a problem with its line in the file of nodes, 0 for one elsewhere.
type lined struct {
	error
	line int
}

// problem notes a problem, each once: a thousand nodes may share a setting.
// maxProblems are reported at once.
const maxProblems = 100

func (r *reading) problem(line int, format string, args ...any) {
	if len(r.problems) >= maxProblems {
		return
	}
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(r.problems, func(p lined) bool { return p.Error() == err.Error() }) {
		r.problems = append(r.problems, lined{err, line})
	}
}

// content is a file as it was found.
type content struct {
	data []byte
	err  error
}

func (r *reading) open(path string) ([]byte, error) {
	c, known := r.files[path]
	if !known {
		c.data, c.err = regular.ReadFile(path)
		if c.err != nil {
			c.err = fmt.Errorf("%w: give a file that this user may read", c.err)
		}
		r.files[path] = c
	}
	return c.data, c.err
}

// node adds the credentials. where, if not nil, tells where the node's own
// settings stand.
func (r *reading) node(n Node, own, general Access, where func(setting) (line int, place string)) Node {
	u, err := url.Parse(n.URL)
	n.access = own.over(general, err == nil && u.User != nil)
	if own.HeadersFile != "" && own.BearerFile+own.BasicAuthFile == "" && r.headers(own.HeadersFile).Get("Authorization") != "" {
		n.access.BearerFile, n.access.BasicAuthFile = "", ""
	}
	made := r.credentials(n.access)
	for _, p := range made.problems {
		line, place := 0, r.called(p.setting.name)
		if *p.setting.of(&own) != "" {
			line, place = where(p.setting)
		}
		r.problem(line, "%s: %w", place, p.err)
	}
	n.Host, n.Header, n.TLS = n.access.Host, made.header, made.tls
	return n
}
