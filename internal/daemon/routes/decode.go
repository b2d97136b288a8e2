package routes

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Decode decodes one JSON object strictly into v. An unknown field, a duplicate key, a key in
// different case, null, and a value of the wrong type are errors; the error says where the value
// is. An empty body is an empty object.
func Decode(body []byte, v any) error {
	if len(body) == 0 {
		return nil
	}
	err := jsontree.Decode(body, v)
	e, ok := errors.AsType[*jsontree.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, jsontree.ErrType):
		return usageError(fmt.Sprintf("%s %s", cmp.Or(e.Path, "the body"), e.What), e.Hint)
	}
	return usageError(fmt.Sprintf("the body is not a JSON object: %s, at byte %d", e.What, e.Offset+1), e.Hint)
}

func usageError(detail, hint string) error { return NewProblem(outcome.Usage, detail, hint) }

// ParseQuery parses a query by the route's parameters. Empty parameters are omitted.
func (r *Route) ParseQuery(raw string) (map[string]string, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, usageError("invalid query: "+err.Error(), "")
	}
	q := map[string]string{}
	for name, list := range values {
		i := slices.IndexFunc(r.Query, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return nil, usageError(fmt.Sprintf("unknown parameter %q", name), knownParams(r.Query))
		}
		if len(list) > 1 {
			return nil, usageError(fmt.Sprintf("the parameter %q is given %d times, but may be given once", name, len(list)), "")
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
			return nil, usageError(fmt.Sprintf("the parameter %q is required", p.Name), p.Doc)
		}
	}
	return q, nil
}

func knownParams(params []Param) string {
	if len(params) == 0 {
		return "this route has no parameters"
	}
	var list []string
	for _, p := range params {
		list = append(list, p.Name)
	}
	return "the parameters are " + strings.Join(list, ", ")
}

func (p *Param) check(v string) error {
	switch p.Type {
	case "integer":
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return usageError(fmt.Sprintf("the parameter %q must be a whole number, not %q", p.Name, v), "")
		}
		if (p.Min != 0 || p.Max != 0) && (n < p.Min || n > p.Max) {
			return usageError(fmt.Sprintf("the parameter %q must be from %d to %d, not %d", p.Name, p.Min, p.Max, n), "")
		}
	case "boolean":
		if v != "true" && v != "false" {
			return usageError(fmt.Sprintf("the parameter %q must be true or false, not %q", p.Name, v), "")
		}
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
		return usageError(fmt.Sprintf("invalid value for the parameter %q: %q", p.Name, v), "one of "+strings.Join(p.Enum, ", "))
	}
	return nil
}
