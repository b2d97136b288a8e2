package daemon

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/session"
)

// countingStore is a store that counts the listed pages, except queries for single sessions.
type countingStore struct {
	session.Store
	lists atomic.Int64
}

func (c *countingStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	if q.ID == "" {
		c.lists.Add(1)
	}
	return c.Store.List(ctx, q)
}

// Unwrap gives access to the other methods of the store.
func (c *countingStore) Unwrap() session.Store { return c.Store }

// However many sessions of sub-agents are newer or do not contain the words, a page needs only a
// few queries of the store, and the pages contain every session once.
func TestListQueriesOfStore(t *testing.T) {
	c := &countingStore{}
	w := newHTTPEnv(t, func(o *Options) {
		c.Store = o.Sessions.Store()
		o.Sessions = session.New(c, nil)
	})
	var red, all []string
	for i := range 90 {
		o := session.Opened{SessionID: fmt.Sprintf("s%02d", i)}
		switch {
		case i%3 > 0 || i > 60:
			o.Owner = "s00"
		case i%2 == 0:
			o.Title = "red"
			red = append(red, o.SessionID)
			fallthrough
		default:
			all = append(all, o.SessionID)
		}
		l, err := w.sessions.Create(t.Context(), o)
		must(t, err)
		must(t, l.Close())
	}
	for query, want := range map[string][]string{"": all, "q=red&": red, "q=none&": nil} {
		var got []string
		for cursor := ""; ; {
			before := c.lists.Load()
			var page api.Page[api.Session]
			w.want(200, &page, "GET", "/v1/sessions?limit=4&"+query+"cursor="+url.QueryEscape(cursor), "")
			if n := c.lists.Load() - before; n > 3 { // the session itself, the page, and its end
				t.Errorf("%q: %d queries of the store", query, n)
			}
			for _, s := range page.Items {
				got = append(got, s.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
}
