package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/session"
)

// fakeDaemon answers requests like a daemon without data, and collects requests that do not match
// the route table.
type fakeDaemon struct {
	mux  *http.ServeMux
	asks []string
	errs []error
}

func newFakeDaemon() *fakeDaemon {
	r := &fakeDaemon{mux: http.NewServeMux()}
	for _, route := range routes.Routes() {
		r.mux.HandleFunc(route.Key(), func(w http.ResponseWriter, q *http.Request) {
			r.asks = append(r.asks, route.ID)
			if err := r.check(&route, q); err != nil {
				r.errs = append(r.errs, fmt.Errorf("%s: %w", route.ID, err))
			}
			_, _ = io.WriteString(w, "{}")
		})
	}
	return r
}

func (r *fakeDaemon) check(route *routes.Route, q *http.Request) error {
	if _, err := route.ParseQuery(q.URL.RawQuery); err != nil {
		return err
	}
	body, err := io.ReadAll(q.Body)
	if err != nil || len(body) == 0 {
		return err
	}
	if route.Body == nil {
		return fmt.Errorf("a body for a route without one: %s", body)
	}
	return routes.Decode(body, reflect.New(reflect.TypeOf(route.Body)).Interface())
}

func (r *fakeDaemon) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Body == nil {
		q.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	r.mux.ServeHTTP(w, q)
	return w.Result(), nil
}

// Every method of the client sends a request of the route table, with a query and a body that the
// daemon accepts.
func TestMethodsMatchRoutes(t *testing.T) {
	r := newFakeDaemon()
	c := &Client{http: &http.Client{Transport: r}, base: "http://holdfast", address: "here"}
	v := reflect.ValueOf(c)
	sent := 0
	for i := range v.NumMethod() {
		m := v.Method(i)
		name := v.Type().Method(i).Name
		switch name {
		case "Events", "Prepare", "Start", "Fork": // several requests, each tested with another method
			continue
		}
		if m.Type().NumIn() == 0 || m.Type().In(0) != reflect.TypeFor[context.Context]() {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type().NumIn() && !(m.Type().IsVariadic() && j == m.Type().NumIn()-1); j++ {
			args = append(args, sample(m.Type().In(j)))
		}
		switch name {
		case "Export":
			args[2] = reflect.ValueOf("text")
		case "Sessions":
			args[1] = reflect.ValueOf(ListOptions{Limit: 5, Cursor: "c", Text: "q", Cwd: "/w", Project: "p", Tag: "t", Run: "running", Owner: "o", WithApprovals: true, Agents: true})
		case "Runs":
			args[1] = reflect.ValueOf(ListOptions{Limit: 5, Cursor: "c", Status: "running", Cwd: "/w"})
		case "Approvals":
			args[1] = reflect.ValueOf(ListOptions{Limit: 5, Cursor: "c", State: "all", Session: "s"})
		case "Audit":
			args[1] = reflect.ValueOf(ListOptions{Limit: 7, Cursor: "x", Session: "x", Kind: "x"})
		}
		r.asks = nil
		out := m.Call(args)
		if err := out[len(out)-1]; !err.IsNil() {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.asks) != 1 {
			t.Errorf("%s requests %s", name, strings.Join(r.asks, ", "))
		}
		sent++
	}
	for _, err := range r.errs {
		t.Error(err)
	}
	if sent < 35 {
		t.Errorf("%d methods send requests", sent)
	}
}

// sample returns a value with all fields that a client may set.
func sample(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[session.Search]():
		return reflect.ValueOf(session.Search{Words: "w", Tool: "t", Role: "user", Session: "s", Since: time.Unix(0, 0), Limit: 5, After: "c"})
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a":1}`))
		} else {
			v.Set(reflect.Append(v, sample(t.Elem())))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() && t.Field(i).Type.Name() != "Time" {
				v.Field(i).Set(sample(t.Field(i).Type))
			}
		}
	}
	return v
}
