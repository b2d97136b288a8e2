package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Decode reads one JSON object strictly: a field that v does not have, a duplicate key, a key
// with other capitals, null and values of another type are errors that say where. No body at
// all is an empty object.
func Decode(body []byte, v any) error {
	if len(body) == 0 {
		return nil
	}
	root, err := jsontree.Parse(body)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		return usage(fmt.Sprintf("the body is no JSON object: %s, at byte %d", e.What, e.Offset+1), e.Hint)
	}
	if err != nil {
		return usage("the body is no JSON object: "+err.Error(), "")
	}
	if err := fits(&root, reflect.TypeOf(v).Elem(), ""); err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return usage(fmt.Sprintf("%s is %s and cannot be %s", e.Field, e.Value, e.Type), "")
		}
		return usage("the body does not fit: "+err.Error(), "")
	}
	return nil
}

func usage(detail, hint string) error { return NewProblem(outcome.Usage, detail, hint) }

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
		return usage(fmt.Sprintf("%s is %s, and must be %s", place, n.Kind, want), "")
	}
	switch {
	case t.Kind() == reflect.Struct && want == jsontree.Object:
		fields := jsonFields(t)
		for i := range n.Members {
			m := &n.Members[i]
			f, ok := fields[m.Key]
			if !ok {
				return usage(fmt.Sprintf("%s has no field %q", place, m.Key), "its fields are "+names(fields))
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
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
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

// ParseQuery reads a query as the route takes it. Parameters that are empty are left out.
func (r *Route) ParseQuery(raw string) (map[string]string, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, usage("the query cannot be read: "+err.Error(), "")
	}
	q := map[string]string{}
	for name, list := range values {
		i := slices.IndexFunc(r.Query, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return nil, usage(fmt.Sprintf("there is no parameter %q here", name), knownParams(r.Query))
		}
		if len(list) > 1 {
			return nil, usage(fmt.Sprintf("the parameter %q is given %d times", name, len(list)), "")
		}
		if list[0] == "" {
			continue
		}
		if err := r.Query[i].check(list[0]); err != nil {
			return nil, err
		}
		q[name] = list[0]
	}
	for _, p := range r.Query {
		if p.Required && q[p.Name] == "" {
			return nil, usage(fmt.Sprintf("the parameter %q is needed", p.Name), p.Doc)
		}
	}
	return q, nil
}

func knownParams(params []Param) string {
	if len(params) == 0 {
		return "this route has none"
	}
	var list []string
	for _, p := range params {
		list = append(list, p.Name)
	}
	return "there are " + strings.Join(list, ", ")
}

func (p *Param) check(v string) error {
	switch p.Type {
	case "integer":
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return usage(fmt.Sprintf("the parameter %q is %q and must be a whole number", p.Name, v), "")
		}
		if (p.Min != 0 || p.Max != 0) && (n < p.Min || n > p.Max) {
			return usage(fmt.Sprintf("the parameter %q is %d and must be from %d to %d", p.Name, n, p.Min, p.Max), "")
		}
	case "boolean":
		if v != "true" && v != "false" {
			return usage(fmt.Sprintf("the parameter %q is %q and must be true or false", p.Name, v), "")
		}
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
		return usage(fmt.Sprintf("the parameter %q cannot be %q", p.Name, v), "one of "+strings.Join(p.Enum, ", "))
	}
	return nil
}
