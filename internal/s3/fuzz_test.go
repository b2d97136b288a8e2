package s3

import (
	"net/http"
	"strings"
	"testing"
)

// With any answers of a server, listings end and errors have a code.
func FuzzAnswers(f *testing.F) {
	f.Add(200, listing("", "p/a"), "p/")
	f.Add(200, listing("more", "p/a"), "p/")
	f.Add(403, errorXML("AccessDenied"), "")
	f.Add(301, "<Error><Region>eu-central-1</Region></Error>", "")
	f.Fuzz(func(t *testing.T, status int, body, prefix string) {
		if status < 200 || status > 599 || status == 408 || status == 429 || status >= 499 {
			return // those that are asked again after a pause
		}
		asked, give := 0, repeatable(answer(status, body))
		c := newClient(t, Options{Tries: 1}, func(*http.Request) *http.Response {
			asked++
			return give()
		})
		for o, err := range c.List(t.Context(), prefix, "") {
			if err == nil && !strings.HasPrefix(o.Key, prefix) {
				t.Errorf("%q is listed below %q", o.Key, prefix)
			}
		}
		if asked > 2 {
			t.Errorf("%d requests", asked)
		}
		if e := c.readError(give(), "key", "region"); e.Code == "" || e.Error() == "" || e.Region != "" && !validRegion(e.Region) {
			t.Errorf("%+v", e)
		}
	})
}
