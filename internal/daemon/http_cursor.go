package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

const cursorSum = 12 // bytes

// cursor makes the token for the next page of a list: where it begins, bound to the
// route and to the filters. It is good as long as the list is there, also after a
// restart; it protects from mistakes, and keeps nothing secret.
func (c *call) cursor(after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(c.bound(after), after...))
}

// after is where a list goes on: what [call.cursor] was given for the cursor of the
// query.
func (c *call) after() (string, error) {
	token := c.query["cursor"]
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= cursorSum || !bytes.Equal(b[:cursorSum], c.bound(string(b[cursorSum:]))) {
		return "", refuse(outcome.Usage, "the cursor is not one of this list with these filters", "begin without a cursor")
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
