package config

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	httpconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/secret"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// httpEntry is one entry of the file of credentials. For an upstream, the first entry with its name counts.
type httpEntry struct {
	// Upstreams are names. A name with * matches any of the operator's nodes, but no observer and no service: these get only
	// credentials that are configured for their name.
	Upstreams []string                    `yaml:"upstreams"`
	Host      string                      `yaml:"host"`
	HTTP      httpconfig.HTTPClientConfig `yaml:"http_config"`
}

// UnmarshalYAML adds the names of the entry to the errors of the library, which have no line.
func (e *httpEntry) UnmarshalYAML(unmarshal func(any) error) error {
	type plain httpEntry
	err := unmarshal((*plain)(e))
	if _, located := errors.AsType[*yaml.TypeError](err); located {
		return err
	}
	if len(e.Upstreams) == 0 {
		err = cmp.Or(err, errors.New("upstreams missing: write names, such as [alpha] or ['*'] for all nodes"))
	}
	for _, pattern := range e.Upstreams {
		if _, bad := path.Match(pattern, ""); bad != nil {
			err = cmp.Or(err, errors.New("invalid pattern: write a name, with * for any text"))
		}
	}
	if err != nil {
		return &yaml.TypeError{Errors: []string{e.name() + err.Error()}}
	}
	return nil
}

// name is the beginning of an error about the entry.
func (e *httpEntry) name() string { return "upstreams [" + strings.Join(e.Upstreams, ", ") + "]: " }

// matches reports whether the entry is for an upstream.
func (e *httpEntry) matches(name string, own bool) bool {
	return slices.ContainsFunc(e.Upstreams, func(pattern string) bool { return isFor(pattern, name, own) })
}

// isFor reports whether a pattern is for an upstream.
func isFor(pattern, name string, own bool) bool {
	match, _ := path.Match(pattern, name)
	return pattern == name || own && match
}

// credentials reads the file of credentials and the API key, and sets what each upstream uses.
func (r *reader) credentials(u *Upstreams, entries []httpEntry) {
	file := r.HTTPConfigFile
	access := make([]Access, len(entries))
	for i := range entries {
		access[i] = r.access(file, &entries[i])
	}
	find := func(name string, own bool) int {
		return slices.IndexFunc(entries, func(e httpEntry) bool { return e.matches(name, own) })
	}
	direct := func(name string, own bool) (a Access) {
		i := find(name, own)
		if i < 0 {
			return a
		}
		if h := entries[i].HTTP; h.OAuth2 != nil || h.ProxyURL.URL != nil || h.ProxyFromEnvironment {
			r.noteAt(&r.HTTPConfigFile, file, fmt.Errorf("%soauth2 and proxy settings are not supported for %s: remove them, and set HTTPS_PROXY to use a proxy",
				entries[i].name(), name))
		}
		return access[i]
	}
	for i := range u.Nodes {
		n := &u.Nodes[i]
		n.Access = direct(n.Name, !n.Observer)
		if address, err := url.Parse(n.URL); err == nil && address.User != nil && n.Header != nil {
			n.Header = n.Header.Clone()
			n.Header.Del("Authorization") // the URL has user and password
		}
	}
	for _, name := range []string{"data", "metrics"} {
		u.Services[name] = direct(name, false)
	}
	for _, name := range []string{"alertmanager", "prometheus", "discovery"} {
		if i := find(name, false); i >= 0 {
			u.HTTP[name] = &entries[i].HTTP
			if entries[i].Host != "" {
				r.noteAt(&r.HTTPConfigFile, file, fmt.Errorf("%shost is not supported for %s: remove it", entries[i].name(), services[name]))
			}
		}
	}
	u.Unused = unused(entries, u.Nodes)
	if key := r.key(r.DataAPIKeyFile); key != "" {
		service := u.Services["data"]
		if service.Header = service.Header.Clone(); service.Header == nil {
			service.Header = http.Header{}
		}
		service.Header.Set(data.KeyHeader, key)
		u.Services["data"] = service
	}
}

// unused returns the names and patterns of the entries that are the first to match no upstream. A service that is not configured counts as one.
func unused(entries []httpEntry, nodes []Node) (patterns []string) {
	used := map[string]bool{} // by entry and pattern
	use := func(name string, own bool) {
		for i, e := range entries {
			for _, pattern := range e.Upstreams {
				if isFor(pattern, name, own) {
					used[fmt.Sprint(i, pattern)] = true
				}
			}
			if e.matches(name, own) {
				return
			}
		}
	}
	for _, n := range nodes {
		use(n.Name, !n.Observer)
	}
	for name := range services {
		use(name, false)
	}
	for i, e := range entries {
		for _, pattern := range e.Upstreams {
			if !used[fmt.Sprint(i, pattern)] {
				patterns = append(patterns, pattern)
			}
		}
	}
	return patterns
}

// key reads the API key of the Data service. Errors contain neither the content nor the name of the file, because an operator may
// have written the key in place of the name.
func (r *reader) key(file string) string {
	if file == "" {
		return ""
	}
	text, err := r.open(file)
	key := strings.TrimSpace(string(text))
	var e *fs.PathError
	switch {
	case errors.As(err, &e):
		err = fmt.Errorf("%w: write the path of a file that contains the key and that this user may read", e.Err)
	case err == nil && (key == "" || strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })):
		err = errors.New("the file must contain only the key, on one line")
	}
	r.note(&r.DataAPIKeyFile, err)
	return key
}

// httpFile parses the file of credentials.
func (r *reader) httpFile(file string) (entries []httpEntry) {
	if file == "" {
		return nil
	}
	data, err := r.open(file)
	if err != nil {
		r.note(&r.HTTPConfigFile, err)
		return nil
	}
	r.noteAt(&r.HTTPConfigFile, file, decodeYAML(data, &entries, "write a list of entries: upstreams: [name, …], http_config: {…}"))
	for i := range entries {
		entries[i].HTTP.SetDirectory(filepath.Dir(file))
	}
	return entries
}

// access reads the files of an entry.
func (r *reader) access(file string, e *httpEntry) (a Access) {
	before := len(r.problems)
	problem := func(err error) { r.noteAt(&r.HTTPConfigFile, file, fmt.Errorf("%s%w", e.name(), err)) }
	secret := func(text, path string) string {
		if path == "" {
			return text
		}
		data, err := r.open(path)
		if err != nil {
			problem(err)
		}
		return strings.TrimSpace(string(data))
	}
	a.Host, a.Header = e.Host, http.Header{}
	if b := e.HTTP.BasicAuth; b != nil && b.UsernameRef+b.PasswordRef != "" || e.HTTP.Authorization != nil && e.HTTP.Authorization.CredentialsRef != "" {
		problem(errors.New("there is no secret manager: write a file instead of a reference"))
	}
	if b := e.HTTP.BasicAuth; b != nil {
		pair := secret(b.Username, b.UsernameFile) + ":" + secret(string(b.Password), b.PasswordFile)
		a.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	if b := e.HTTP.Authorization; b != nil {
		a.Header.Set("Authorization", b.Type+" "+secret(string(b.Credentials), b.CredentialsFile))
	}
	if e.HTTP.HTTPHeaders != nil {
		for name, h := range e.HTTP.HTTPHeaders.Headers {
			for _, value := range h.Values {
				a.Header.Add(name, value)
			}
			for _, value := range h.Secrets {
				a.Header.Add(name, string(value))
			}
			for _, path := range h.Files {
				a.Header.Add(name, secret("", path))
			}
		}
	}
	for name, values := range a.Header {
		for _, value := range values {
			if strings.ContainsFunc(value, unicode.IsControl) {
				problem(fmt.Errorf("the value of the header %s contains a line break or control character: remove it", name))
			}
		}
	}
	t := e.HTTP.TLSConfig
	t.CA, t.CAFile = secret(t.CA, t.CAFile), ""
	t.Cert, t.CertFile = secret(t.Cert, t.CertFile), ""
	t.Key, t.KeyFile = httpconfig.Secret(secret(string(t.Key), t.KeyFile)), ""
	if t == (httpconfig.TLSConfig{}) || len(r.problems) > before {
		return a
	}
	if a.TLS = cmp.Or(r.used[t], r.tls[t]); a.TLS == nil {
		var err error
		if a.TLS, err = httpconfig.NewTLSConfig(&t); err != nil {
			problem(fmt.Errorf("tls_config: %w: write PEM blocks that begin with -----BEGIN, and the key of the certificate", err))
		}
	}
	r.used[t] = a.TLS
	return a
}

// decodeYAML decodes a file strictly. The error joins all problems; none contains a value of the file.
func decodeYAML(data []byte, into any, form string) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	err := decoder.Decode(into)
	if errors.Is(err, io.EOF) {
		return errors.New("line 1: the file is empty: write [] for no entries")
	}
	if err == nil {
		var second yaml.Node
		if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: the file continues after the list: write one YAML document", max(1, second.Line))
		}
		return nil
	}
	texts := []string{err.Error()}
	if located, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = located.Errors
	}
	var errs []error
	for _, text := range texts {
		text = secret.HideQuoted(strings.TrimPrefix(text, "yaml: "))
		text = unknownField.ReplaceAllString(text, `unknown field "$1": `+form)
		errs = append(errs, errors.New(wrongType.ReplaceAllString(text, "unexpected value: "+form)))
	}
	return errors.Join(errs...)
}

var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongType    = regexp.MustCompile(`cannot unmarshal .*`)
)
