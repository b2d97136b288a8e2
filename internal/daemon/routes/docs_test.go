package routes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// node is a part of the OpenAPI document.
type node struct {
	Ref         string           `json:"$ref"`
	Type        any              `json:"type"`
	Format      string           `json:"format"`
	Description string           `json:"description"`
	Enum        []any            `json:"enum"`
	Properties  map[string]*node `json:"properties"`
	Required    []string         `json:"required"`
	Items       *node            `json:"items"`
	AllOf       []*node          `json:"allOf"`
	OneOf       []*node          `json:"oneOf"`
	AnyOf       []*node          `json:"anyOf"`
}

type operationNode struct {
	Description string
	Parameters  []struct {
		Name, Description string
		Required          bool
		Schema            node
	}
	RequestBody struct {
		Content map[string]struct{ Schema node }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema node }
	}
}

// The routes and objects in docs/reference/http.md are those of the OpenAPI document; make docs writes them.
func TestReferenceHTTP(t *testing.T) {
	b, err := OpenAPI(Routes(), "")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tags       []struct{ Name, Description string }
		Paths      map[string]map[string]operationNode
		Components struct{ Schemas map[string]*node }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	var routes, objects strings.Builder
	for _, tag := range doc.Tags {
		fmt.Fprintf(&routes, "\n### Routes: %s\n\n%s.\n", tag.Name, strings.ToUpper(tag.Description[:1])+docgen.Text(tag.Description[1:]))
		for _, r := range Routes() {
			if r.Tag == tag.Name {
				routes.WriteString(routeText(&r, doc.Paths[r.Path][strings.ToLower(r.Method)]))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if rows := fieldRows(doc.Components.Schemas[name], ""); len(rows) > 0 {
			fmt.Fprintf(&objects, "\n### %s\n\n%s", name, docgen.Table([]string{"field", "type", "meaning"}, rows))
		}
	}
	docgen.Parts(t, "reference/http.md", map[string]string{"routes": routes.String(), "objects": objects.String()})
}

// routeText returns the description of a route: scope, parameters, body and response.
func routeText(r *Route, op operationNode) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n#### %s %s\n\n%s\n\n", r.Method, r.Path, docgen.Text(r.Doc))
	scope := "`" + string(r.Scope) + "`"
	switch {
	case r.Open:
		scope = "none, and no credential"
	case r.Scope == "":
		scope = "none"
	}
	lines := []string{"Scope: " + scope + "."}
	for _, kind := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
		schema := op.RequestBody.Content[kind].Schema
		lines = append(lines, "Body: "+contentText(kind, &schema)+".")
	}
	status := fmt.Sprint(r.Success())
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(op.Responses[status].Content)) {
		schema := op.Responses[status].Content[kind].Schema
		kinds = append(kinds, contentText(kind, &schema))
	}
	lines = append(lines, strings.TrimSuffix("Response: "+status+", "+strings.Join(kinds, " or "), ", ")+".")
	b.WriteString(strings.Join(lines, " ") + "\n")
	var rows [][]string
	for _, p := range op.Parameters {
		if p.Name == "Idempotency-Key" || strings.Contains(r.Path, "{"+p.Name+"}") {
			continue
		}
		meaning := docgen.Text(p.Description)
		if p.Required {
			meaning += " (required)"
		}
		rows = append(rows, []string{docgen.Code(p.Name), typeText(&p.Schema), meaning})
	}
	if len(rows) > 0 {
		b.WriteString("\n" + docgen.Table([]string{"parameter", "type", "meaning"}, rows))
	}
	return b.String()
}

// contentText returns the type of a body.
func contentText(kind string, n *node) string {
	if kind != "application/json" {
		return docgen.Code(kind)
	}
	if items := n.Properties["items"]; items != nil {
		return "`items`, a list of " + typeText(items.Items) + ", and `next_cursor`"
	}
	return typeText(n)
}

func typeText(n *node) string {
	switch {
	case n == nil:
		return "JSON"
	case n.Ref != "":
		name := n.Ref[strings.LastIndex(n.Ref, "/")+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case n.Enum != nil:
		var words []string
		for _, v := range n.Enum {
			words = append(words, docgen.Code(fmt.Sprint(v)))
		}
		return strings.Join(words, ", ")
	case n.Items != nil:
		return "list of " + typeText(n.Items)
	case n.Format == "date-time":
		return "time"
	case n.Type == nil:
		return "JSON"
	}
	if list, ok := n.Type.([]any); ok {
		for _, v := range list {
			if v != "null" && v != "array" {
				return fmt.Sprint(v)
			}
		}
		return "list"
	}
	return fmt.Sprint(n.Type)
}

// fieldRows returns the fields of an object and of the objects in it.
func fieldRows(n *node, prefix string) (rows [][]string) {
	if n == nil || strings.Count(prefix, ".") > 2 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		p := n.Properties[name]
		meaning := docgen.Text(p.Description)
		if slices.Contains(n.Required, name) {
			meaning = strings.TrimSpace(meaning + " (always present)")
		}
		rows = append(rows, []string{docgen.Code(prefix + name), typeText(p), meaning})
		rows = append(rows, fieldRows(p, prefix+name+".")...)
		rows = append(rows, fieldRows(p.Items, prefix+name+"[].")...)
	}
	return rows
}
