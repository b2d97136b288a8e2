package daemon

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
)

// No query and no cursor causes a panic, and only generated cursors are valid.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"limit=5", "limit=0", "cursor=AAAA", "q=%", "a=b", "limit=5&limit=6", "q=;", "limit=99999999999999999999"} {
		f.Add(s)
	}
	list, _ := routes.Lookup("listSessions")
	rt := route{Route: list}
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/sessions", nil)
		r.URL.RawQuery = raw
		q, err := rt.ParseQuery(raw)
		if err != nil {
			if e, ok := errors.AsType[*api.Problem](err); !ok || e.Status != 400 {
				t.Fatal(err)
			}
			return
		}
		c := &call{r: r, route: &rt, query: q}
		if n := c.limit(); n < 1 || n > routes.MaxLimit {
			t.Fatalf("limit %d", n)
		}
		after, err := c.after()
		if err == nil && after != "" && c.cursor(after) != q["cursor"] {
			t.Fatalf("the cursor %q is valid, but was not generated", q["cursor"])
		}
	})
}
