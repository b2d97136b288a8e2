package daemon

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// dict is an object of the document; keys are sorted when it is written.
type dict = map[string]any

// document describes the routes in OpenAPI 3.1. It is made from the list that the
// routes are registered from, and from the Go types of what they take and answer.
func document(table []route, version string) ([]byte, error) {
	s := newSchemas()
	paths := dict{}
	for i := range table {
		rt := &table[i]
		op, err := operation(rt, s)
		if err != nil {
			return nil, err
		}
		place, _ := paths[rt.path].(dict)
		if place == nil {
			place = dict{}
			paths[rt.path] = place
		}
		place[strings.ToLower(rt.method)] = op
	}
	problem, err := s.of(Problem{})
	if err != nil {
		return nil, err
	}
	return marshal(dict{
		"openapi": "3.1.0",
		"info": dict{
			"title": "Holdfast", "version": version,
			"description": "Runs of agents, their questions, policy and evidence. On the unix socket the peer's account is the " +
				"credential; over TCP it is a bearer token, or the cookie of a login with its token against forgery.",
			"license": dict{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{dict{"url": "/", "description": "the daemon that serves this document"}},
		"tags":    tags(),
		"paths":   paths,
		"components": dict{
			"schemas": s.named,
			"responses": dict{"Problem": dict{
				"description": "It failed (RFC 9457).",
				"content":     dict{"application/problem+json": dict{"schema": problem}},
			}},
			"securitySchemes": dict{
				"token":  dict{"type": "http", "scheme": "bearer", "description": "holdfast daemon token create"},
				"cookie": dict{"type": "apiKey", "in": "cookie", "name": "holdfast", "description": "POST /v1/login sets it"},
				"csrf":   dict{"type": "apiKey", "in": "header", "name": auth.CSRFHeader, "description": "told by POST /v1/login"},
			},
		},
	})
}

func tags() []any {
	var list []any
	for _, t := range [][2]string{
		{"approvals", "questions that wait for a person, and answers"},
		{"audit", "evidence of what was decided and done"},
		{"auth", "logins and tokens"},
		{"health", "the daemon itself"},
		{"policy", "what may be done, and what was granted"},
		{"runs", "runs of agents"},
		{"sessions", "sessions and their records"},
		{"workspaces", "containers that agents work in, their files and images"},
	} {
		list = append(list, dict{"name": t[0], "description": t[1]})
	}
	return list
}

func operation(rt *route, s *schemas) (dict, error) {
	doc := rt.doc
	if rt.scope != "" {
		doc += " Scope: " + string(rt.scope) + "."
	}
	op := dict{
		"operationId": rt.id, "tags": []string{rt.tag}, "summary": firstSentence(rt.doc), "description": doc,
		"security": security(rt),
	}
	if rt.raw != "" {
		op["requestBody"] = dict{"required": true, "content": dict{rt.raw: dict{"schema": dict{"type": "string", "format": "binary"}}}}
	}
	if list := parameters(rt); len(list) > 0 {
		op["parameters"] = list
	}
	if rt.body != nil {
		schema, err := s.of(rt.body)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = dict{"required": mustHaveBody(rt), "content": dict{"application/json": dict{"schema": schema}}}
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

func security(rt *route) []any {
	switch {
	case rt.open:
		return []any{}
	case rt.method == http.MethodGet:
		return []any{dict{"token": []string{}}, dict{"cookie": []string{}}}
	}
	return []any{dict{"token": []string{}}, dict{"cookie": []string{}, "csrf": []string{}}}
}

// mustHaveBody reports whether an empty object would be refused.
func mustHaveBody(rt *route) bool {
	return !slices.Contains([]string{"startRun", "continueRun", "forkSession", "verifyAudit", "patchWorkspace", "buildImage"}, rt.id)
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func parameters(rt *route) []any {
	var list []any
	for _, m := range pathParam.FindAllStringSubmatch(rt.path, -1) {
		list = append(list, parameter("path", param{name: m[1], doc: "its id", needed: true}))
	}
	for _, p := range rt.query {
		list = append(list, parameter("query", p))
	}
	for _, p := range rt.header {
		list = append(list, parameter("header", p))
	}
	if rt.keyed() {
		list = append(list, parameter("header", keyParam))
	}
	return list
}

// keyed reports whether a route takes an Idempotency-Key.
func (r *route) keyed() bool { return r.method == http.MethodPost && !r.secret && !r.stream }

func parameter(in string, p param) dict {
	schema := dict{"type": "string"}
	if p.kind != "" {
		schema["type"] = p.kind
	}
	if p.min != 0 || p.max != 0 {
		schema["minimum"], schema["maximum"] = p.min, p.max
	}
	if len(p.oneOf) > 0 {
		schema["enum"] = p.oneOf
	}
	return dict{"name": p.name, "in": in, "required": p.needed, "description": p.doc, "schema": schema}
}

func responses(rt *route, s *schemas) (dict, error) {
	out := dict{"default": dict{"$ref": "#/components/responses/Problem"}}
	for _, o := range problemsOf(rt) {
		out[strconv.Itoa(o.Status)] = dict{"$ref": "#/components/responses/Problem"}
	}
	content := dict{}
	if rt.answer != nil {
		schema, err := s.of(rt.answer)
		if err != nil {
			return nil, err
		}
		content["application/json"] = dict{"schema": schema}
	}
	for _, t := range rt.types {
		content[t] = dict{"schema": dict{"type": "string"}}
	}
	for _, status := range append([]int{rt.success()}, rt.also...) {
		answer := dict{"description": http.StatusText(status)}
		if len(content) > 0 {
			answer["content"] = content
		}
		if etagged(rt) {
			answer["headers"] = dict{"ETag": dict{"schema": dict{"type": "string"}, "description": "for If-Match"}}
		}
		out[strconv.Itoa(status)] = answer
	}
	return out, nil
}

func etagged(rt *route) bool {
	switch rt.answer.(type) {
	case Session, Policy:
		return true
	}
	return false
}

// problemsOf lists what can become of a request to a route beside its answer.
func problemsOf(rt *route) []outcome.Outcome {
	list := append([]outcome.Outcome{outcome.Usage, outcome.Failed}, rt.problems...)
	if !rt.open {
		list = append(list, outcome.Unauthenticated, outcome.Forbidden, outcome.Unavailable)
	}
	if !rt.open && rt.method != http.MethodGet {
		list = append(list, outcome.NoSpace)
	}
	if rt.body != nil {
		list = append(list, outcome.TooLarge, outcome.MediaType)
	}
	if rt.keyed() {
		list = append(list, outcome.KeyReused, outcome.Conflict)
	}
	return list
}
