package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

const cursorSum = 12 // bytes

// cursor returns the token for the next page of a list. It has the position and is bound to the route and
// its filters. It stays valid after a restart. It protects against mistakes; its content is not secret.
func (c *call) cursor(after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(c.bound(after), after...))
}

// after returns the position in the query's cursor, as given to [call.cursor].
func (c *call) after() (string, error) {
	token := c.query["cursor"]
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= cursorSum || !bytes.Equal(b[:cursorSum], c.bound(string(b[cursorSum:]))) {
		return "", refuse(outcome.Usage, "the cursor does not belong to this list with these filters", "restart the list without a cursor")
	}
	return string(b[cursorSum:]), nil
}

func (c *call) bound(after string) []byte {
	h := sha256.New()
	add := func(s string) {
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	add("1")
	add(c.r.URL.Path)
	for _, p := range c.route.Query {
		if p.Name != "cursor" && p.Name != "limit" {
			add(c.query[p.Name])
		}
	}
	add(after)
	return h.Sum(nil)[:cursorSum]
}
