package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// readBody reads a body of JSON; none is an empty one.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, refuse(outcome.TooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody), "")
	}
	if err != nil {
		return nil, &refusal{out: outcome.Usage, detail: "the body could not be read: " + err.Error(), err: err}
	}
	if len(b) == 0 {
		return nil, nil
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, refuse(outcome.MediaType, fmt.Sprintf("the body's type is %q", r.Header.Get("Content-Type")),
			"Content-Type: application/json")
	}
	return b, nil
}

// decodeBody reads one JSON object strictly: a field that v does not have, a key that
// stands twice or is spelled with other capitals, null and values of another type are
// errors that say where. No body at all is an empty object.
func decodeBody(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	root, err := jsontree.Parse(b)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		return refuse(outcome.Usage, fmt.Sprintf("the body is no JSON object: %s, at byte %d", e.What, e.Offset+1), e.Hint)
	}
	if err != nil {
		return refuse(outcome.Usage, "the body is no JSON object: "+err.Error(), "")
	}
	if err := fits(&root, reflect.TypeOf(v).Elem(), ""); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return refuse(outcome.Usage, fmt.Sprintf("%s is %s and cannot be %s", e.Field, e.Value, e.Type), "")
		}
		return refuse(outcome.Usage, "the body does not fit: "+err.Error(), "")
	}
	return nil
}

var rawType = reflect.TypeFor[json.RawMessage]()

// fits compares the shape of a value with that of a type; at is the path to it.
func fits(n *jsontree.Node, t reflect.Type, at string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == rawType {
		return nil
	}
	place := at
	if place == "" {
		place = "the body"
	}
	want := kindOf(t)
	if want != "" && n.Kind != want {
		return refuse(outcome.Usage, fmt.Sprintf("%s is %s, and must be %s", place, n.Kind, want), "")
	}
	switch {
	case t.Kind() == reflect.Struct && want == jsontree.Object:
		fields := jsonFields(t)
		for i := range n.Members {
			m := &n.Members[i]
			f, ok := fields[m.Key]
			if !ok {
				return refuse(outcome.Usage, fmt.Sprintf("%s has no field %q", place, m.Key), "its fields are "+names(fields))
			}
			if err := fits(&m.Value, f, strings.TrimPrefix(at+"."+m.Key, ".")); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Slice:
		for i := range n.Items {
			if err := fits(&n.Items[i], t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func kindOf(t reflect.Type) jsontree.Kind {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return jsontree.Object
	case reflect.Slice:
		return jsontree.List
	case reflect.String:
		return jsontree.Text
	case reflect.Bool:
		return jsontree.Bool
	case reflect.Int, reflect.Int64, reflect.Float64:
		return jsontree.Number
	}
	return ""
}

func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = f.Type
	}
	return out
}

func names(fields map[string]reflect.Type) string {
	var list []string
	for n := range fields {
		list = append(list, n)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// param is a parameter of a route's query.
type param struct {
	name, doc string
	kind      string   // string, integer, boolean
	oneOf     []string // of a string
	min, max  int64    // of an integer, when they are not both 0
	needed    bool
}

// query is what a request's query says. Only what the route knows is in it.
type query map[string]string

func parseQuery(r *http.Request, params []param) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(outcome.Usage, "the query cannot be read: "+err.Error(), "")
	}
	q := query{}
	for name, list := range values {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		if i < 0 {
			return nil, refuse(outcome.Usage, fmt.Sprintf("there is no parameter %q here", name), knownParams(params))
		}
		if len(list) > 1 {
			return nil, refuse(outcome.Usage, fmt.Sprintf("the parameter %q stands %d times", name, len(list)), "")
		}
		if list[0] == "" {
			continue
		}
		if err := params[i].check(list[0]); err != nil {
			return nil, err
		}
		q[name] = list[0]
	}
	for _, p := range params {
		if p.needed && q[p.name] == "" {
			return nil, refuse(outcome.Usage, fmt.Sprintf("the parameter %q is needed", p.name), p.doc)
		}
	}
	return q, nil
}

func knownParams(params []param) string {
	if len(params) == 0 {
		return "this route has none"
	}
	var list []string
	for _, p := range params {
		list = append(list, p.name)
	}
	return "there are " + strings.Join(list, ", ")
}

func (p *param) check(v string) error {
	switch p.kind {
	case "integer":
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return refuse(outcome.Usage, fmt.Sprintf("the parameter %q is %q and must be a whole number", p.name, v), "")
		}
		if (p.min != 0 || p.max != 0) && (n < p.min || n > p.max) {
			return refuse(outcome.Usage, fmt.Sprintf("the parameter %q is %d and must be from %d to %d", p.name, n, p.min, p.max), "")
		}
	case "boolean":
		if v != "true" && v != "false" {
			return refuse(outcome.Usage, fmt.Sprintf("the parameter %q is %q and must be true or false", p.name, v), "")
		}
	}
	if len(p.oneOf) > 0 && !slices.Contains(p.oneOf, v) {
		return refuse(outcome.Usage, fmt.Sprintf("the parameter %q cannot be %q", p.name, v), "one of "+strings.Join(p.oneOf, ", "))
	}
	return nil
}

// number is an integer that was checked, or a default.
func (q query) number(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(q[name], 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}
