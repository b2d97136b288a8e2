package routes

import (
	"encoding/json"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// dict is a JSON object in the document. Its keys are sorted when it is written as JSON.
type dict = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of routes. It is generated from the list from which the
// daemon registers its handlers, and from the Go types of requests and answers.
func OpenAPI(routes []Route, version string) ([]byte, error) {
	s := newSchemas()
	paths := dict{}
	for i := range routes {
		rt := &routes[i]
		op, err := operation(rt, s)
		if err != nil {
			return nil, err
		}
		place, _ := paths[rt.Path].(dict)
		if place == nil {
			place = dict{}
			paths[rt.Path] = place
		}
		place[strings.ToLower(rt.Method)] = op
	}
	problem, err := s.schemaOf(api.Problem{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(dict{
		"openapi": "3.1.0",
		"info": dict{
			"title": "Holdfast", "version": version,
			"description": "Runs of agents, their approvals, policy and audit trail. On the unix socket, the peer's user account is the " +
				"credential. Over TCP, it is a bearer token, or the cookie of a login together with its CSRF token.",
			"license": dict{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{dict{"url": "/", "description": "the daemon that serves this document"}},
		"tags":    tags(),
		"paths":   paths,
		"components": dict{
			"schemas": s.named,
			"responses": dict{"Problem": dict{
				"description": "The request failed (RFC 9457).",
				"content":     dict{"application/problem+json": dict{"schema": problem}},
			}},
			"securitySchemes": dict{
				"token":  dict{"type": "http", "scheme": "bearer", "description": "holdfast daemon token create"},
				"cookie": dict{"type": "apiKey", "in": "cookie", "name": "holdfast", "description": "set by POST /v1/login"},
				"csrf":   dict{"type": "apiKey", "in": "header", "name": "X-Holdfast-CSRF", "description": "from the answer of POST /v1/login"},
			},
		},
	})
}

func tags() []any {
	var list []any
	for _, t := range [][2]string{
		{"approvals", "approval requests and their answers"},
		{"audit", "audit entries: decisions and effects"},
		{"auth", "logins and tokens"},
		{"health", "the daemon itself"},
		{"policy", "permission policy and grants"},
		{"runs", "runs of agents"},
		{"sessions", "sessions and their records"},
		{"workspaces", "persistent agent containers, their files and images"},
	} {
		list = append(list, dict{"name": t[0], "description": t[1]})
	}
	return list
}

func operation(rt *Route, s *schemas) (dict, error) {
	doc := rt.Doc
	if rt.Scope != "" {
		doc += " Scope: " + string(rt.Scope) + "."
	}
	op := dict{
		"operationId": rt.ID, "tags": []string{rt.Tag}, "summary": firstSentence(rt.Doc), "description": doc,
		"security": security(rt),
	}
	if rt.RawBody != "" {
		op["requestBody"] = dict{"required": true, "content": dict{rt.RawBody: dict{"schema": dict{"type": "string", "format": "binary"}}}}
	}
	if list := parameters(rt); len(list) > 0 {
		op["parameters"] = list
	}
	if rt.Body != nil {
		schema, err := s.schemaOf(rt.Body)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = dict{"required": !rt.OptionalBody, "content": dict{"application/json": dict{"schema": schema}}}
	}
	answers, err := responses(rt, s)
	op["responses"] = answers
	return op, err
}

func firstSentence(s string) string {
	if i := strings.IndexAny(s, ".;:"); i > 0 {
		return s[:i]
	}
	return s
}

func security(rt *Route) []any {
	switch {
	case rt.Open:
		return []any{}
	case rt.Method == http.MethodGet:
		return []any{dict{"token": []string{}}, dict{"cookie": []string{}}}
	}
	return []any{dict{"token": []string{}}, dict{"cookie": []string{}, "csrf": []string{}}}
}

var pathParam = lazyregexp.Must(`\{(\w+)\}`)

func parameters(rt *Route) []any {
	var list []any
	for _, m := range pathParam().FindAllStringSubmatch(rt.Path, -1) {
		list = append(list, parameter("path", Param{Name: m[1], Doc: "id in the path", Required: true}))
	}
	for _, p := range rt.Query {
		list = append(list, parameter("query", p))
	}
	for _, p := range rt.Header {
		list = append(list, parameter("header", p))
	}
	if rt.Idempotent() {
		list = append(list, parameter("header", keyParam))
	}
	return list
}

func parameter(in string, p Param) dict {
	schema := dict{"type": "string"}
	if p.Type != "" {
		schema["type"] = p.Type
	}
	if p.Min != 0 || p.Max != 0 {
		schema["minimum"], schema["maximum"] = p.Min, p.Max
	}
	if len(p.Enum) > 0 {
		schema["enum"] = p.Enum
	}
	return dict{"name": p.Name, "in": in, "required": p.Required, "description": p.Doc, "schema": schema}
}

func responses(rt *Route, s *schemas) (dict, error) {
	out := dict{"default": dict{"$ref": "#/components/responses/Problem"}}
	for _, o := range rt.problems() {
		out[strconv.Itoa(o.Status)] = dict{"$ref": "#/components/responses/Problem"}
	}
	content := dict{}
	if rt.Response != nil {
		schema, err := s.schemaOf(rt.Response)
		if err != nil {
			return nil, err
		}
		content["application/json"] = dict{"schema": schema}
	}
	for _, t := range rt.Types {
		content[t] = dict{"schema": dict{"type": "string"}}
	}
	for _, status := range append([]int{rt.Success()}, rt.Also...) {
		answer := dict{"description": http.StatusText(status)}
		if len(content) > 0 {
			answer["content"] = content
		}
		if rt.Versioned {
			answer["headers"] = dict{"ETag": dict{"schema": dict{"type": "string"}, "description": "for If-Match"}}
		}
		out[strconv.Itoa(status)] = answer
	}
	return out, nil
}

// problems lists the problems that a route can return.
func (rt *Route) problems() []outcome.Outcome {
	list := append([]outcome.Outcome{outcome.Usage, outcome.Failed}, rt.Problems...)
	if !rt.Open {
		list = append(list, outcome.Unauthenticated, outcome.Forbidden, outcome.Unavailable)
	}
	if !rt.Open && rt.Method != http.MethodGet {
		list = append(list, outcome.NoSpace)
	}
	if rt.Body != nil {
		list = append(list, outcome.TooLarge, outcome.MediaType)
	}
	if rt.Idempotent() {
		list = append(list, outcome.KeyReused, outcome.Conflict)
	}
	return list
}
