package hook

import (
	"iter"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

func (d *blockDecoder) url(into *string) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		d.requiredText(into)(path, n)
		if n.Kind != jsontree.Text || strings.TrimSpace(n.Text) == "" {
			return
		}
		u, err := url.Parse(n.Text)
		switch {
		case err != nil || u.Hostname() == "":
			d.report(path, n.At, `write "http://127.0.0.1:8080/hook"`, "invalid URL %s", n.Show())
		case u.Scheme != "http" && u.Scheme != "https":
			d.report(path, n.At, "write http or https", "unsupported URL scheme %s", u.Scheme)
		case u.User != nil:
			d.report(path, n.At, `put it in "headers", as a variable`, "the URL contains a user name or password")
		}
	}
}

// headerName matches an HTTP header name.
var headerName = lazyregexp.Must("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")

// ownHeaders are headers that settings cannot set.
var ownHeaders = lazyregexp.Must(`(?i)^(host|content-length|content-type|transfer-encoding|connection|trailer|te|upgrade)$`)

func (d *blockDecoder) headers(into *map[string]string) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		if n.Kind != jsontree.Object {
			d.expected(path, n, "an object", `write {"X-Name": "value"}`)
			return
		}
		*into = map[string]string{}
		for i := range n.Members {
			m := &n.Members[i]
			sub := path + "." + m.Key
			var value string
			d.text(&value)(sub, &m.Value)
			switch {
			case !headerName().MatchString(m.Key):
				d.report(sub, m.At, "", "invalid header name %q", m.Key)
			case ownHeaders().MatchString(m.Key):
				d.report(sub, m.At, "remove it", "Holdfast sets this header")
			case strings.ContainsAny(value, "\r\n"):
				d.report(sub, m.Value.At, "write it on one line", "it contains a line break")
			}
			(*into)[m.Key] = value
		}
	}
}

// headerVariable is $NAME or ${NAME} in a header.
var headerVariable = lazyregexp.Must(`\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)

// headerVariables lists the variables in a header's value.
func headerVariables(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range headerVariable().FindAllStringSubmatch(value, -1) {
			if !yield(m[1] + m[2]) {
				return
			}
		}
	}
}
