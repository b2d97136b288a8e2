package shellread

import (
	"fmt"
	"strings"
)

func under(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// dump shows a reading on one line for each command.
func dump(r *Reading) string {
	var b strings.Builder
	for _, c := range r.Commands {
		fmt.Fprintf(&b, "%s", c.Line)
		if c.Via != nil {
			fmt.Fprintf(&b, " via %s", strings.Join(c.Via, ", "))
		}
		b.WriteByte('\n')
	}
	for _, u := range r.Unclear {
		fmt.Fprintf(&b, "unclear: %s\n", u)
	}
	return b.String()
}
