// Package fleet reads the configured nodes and their credentials, from a list and from a file in Prometheus' file_sd format. It
// reloads the files at runtime. Except for passwords in URLs of the list, secrets are only in files.
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

// Node is a configured node with its credentials.
type Node struct {
	Name string
	URL  string // with user and password, if the list of nodes contains them
	// Observer marks a public node of another operator. The exporter sends it only calls about the network.
	Observer bool
	Host     string      // Host header instead of the URL's
	Header   http.Header // including Authorization
	// TLS is nil without TLS settings. Equal file contents have the same pointer, for all nodes and reloads.
	TLS *tls.Config

	access Access // files with the credentials
}

// Same reports whether both nodes have the same name, role, URL, Host and file paths. The contents of the files may differ.
func (n Node) Same(o Node) bool {
	return n.Name == o.Name && n.URL == o.URL && n.Observer == o.Observer && n.access == o.access
}

// SameCredentials reports whether the contents of the credential files of both nodes are equal.
func (n Node) SameCredentials(o Node) bool {
	return n.TLS == o.TLS && maps.EqualFunc(n.Header, o.Header, slices.Equal)
}

// Access holds the credential settings of nodes. Its fields are the AVAX_NODE_… variables, and the labels __host__, … in the file
// of nodes.
type Access struct {
	Host          string
	HeadersFile   string // lines of Name: value
	BearerFile    string // a token
	BasicAuthFile string // user:password
	CAFile        string // PEM; replaces the system's certificate authorities
	CertFile      string // PEM; client certificate
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

// over returns the access of a node that has its own settings a. Settings that are missing in a are those of general. A token and
// a password count as one setting. So do a certificate and its key: if a has one of them, general does not provide the other.
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
	File   string // path of a file with more nodes; may be empty
	Access Access // for nodes without their own settings; never for observers
	// Name returns the name that errors use for a setting. A setting is nodes, nodes_file, or a field of Access such as ca_file.
	// Nil: errors use the setting itself.
	Name func(setting string) string
	// Reserved holds names that no node may have, and what each name stands for.
	Reserved map[string]string

	files map[string]content                // files of the last Read, by path
	tls   map[[sha256.Size]byte]*tls.Config // TLS configurations of the last Read, by digest of the contents
}

// called returns the name that errors use for a setting.
func (s *Source) called(setting string) string {
	if s.Name == nil {
		return setting
	}
	return s.Name(setting)
}

// Read reads the file of nodes and all files with credentials. The error joins all problems, each with its place and a remedy. No
// error contains the content of a file.
func (s *Source) Read() ([]Node, error) {
	r := &loader{
		called: s.called, files: map[string]content{}, made: map[Access]credentials{},
		tls: map[[sha256.Size]byte]*tls.Config{}, knownTLS: s.tls,
	}
	taken := map[string]bool{}
	for _, n := range s.Nodes {
		err := s.check(n)
		if taken[n.Name] {
			err = fmt.Errorf("duplicate name %q: a node has this name too: rename the observer", n.Name)
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

// setting returns the setting that lists the node.
func (n Node) setting() string {
	if n.Observer {
		return "observers"
	}
	return "nodes"
}

// accessOf returns the access of a node without its own settings. An observer gets none of the nodes' credentials, because it
// belongs to another operator.
func (s *Source) accessOf(n Node) Access {
	if n.Observer {
		return Access{}
	}
	return s.Access
}

// check validates a node's name and address.
func (s *Source) check(n Node) error {
	if has := s.Reserved[n.Name]; has != "" {
		return fmt.Errorf("duplicate name %q: it is the name of %s: rename the node", n.Name, has)
	}
	if err := scrape.CheckURL(n.URL); err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	if u, err := url.Parse(n.URL); err == nil && strings.Contains(u.Path+"/", "/ext/") {
		return fmt.Errorf("%s: the exporter adds /ext/… to the address: write it without /ext, such as %s://%s", n.Name, u.Scheme, u.Host)
	}
	return nil
}

// loader is one pass over all files.
type loader struct {
	called   func(setting string) string
	files    map[string]content
	made     map[Access]credentials
	tls      map[[sha256.Size]byte]*tls.Config
	knownTLS map[[sha256.Size]byte]*tls.Config
	problems []lined
}

// lined is a problem with its line in the file of nodes. The line is 0 for a problem in another place.
type lined struct {
	error
	line int
}

// maxProblems is the maximum number of reported problems. Equal problems are reported once, because a thousand nodes may share a
// setting.
const maxProblems = 100

func (r *loader) problem(line int, format string, args ...any) {
	if len(r.problems) >= maxProblems {
		return
	}
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(r.problems, func(p lined) bool { return p.Error() == err.Error() }) {
		r.problems = append(r.problems, lined{err, line})
	}
}

// content is the content of a file, or the error of reading it.
type content struct {
	data []byte
	err  error
}

func (r *loader) open(path string) ([]byte, error) {
	c, known := r.files[path]
	if !known {
		c.data, c.err = regular.ReadFile(path)
		if c.err != nil {
			c.err = fmt.Errorf("%w: configure a file that this user may read", c.err)
		}
		r.files[path] = c
	}
	return c.data, c.err
}

// node adds the credentials to a node. where, if not nil, returns the line and place of the node's own settings.
func (r *loader) node(n Node, own, general Access, where func(setting) (line int, place string)) Node {
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
