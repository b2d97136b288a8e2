package daemon

import (
	"maps"

	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
)

// apiList converts the items of a list to the API's form. The result is never nil.
func apiList[S, T any](list []S, show func(*S) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = show(&list[i])
	}
	return out
}

// routeTable returns all routes of package routes with their handlers.
func (a *service) routeTable() []route {
	serve := map[string]func(*call) error{}
	for _, part := range []map[string]func(*call) error{
		a.healthHandlers(), a.sessionHandlers(), a.runHandlers(), a.approvalHandlers(), a.policyHandlers(), a.recordHandlers(), a.authHandlers(),
		a.workspaceHandlers(),
	} {
		maps.Copy(serve, part)
	}
	again := a.repeatHandlers()
	var list []route
	for _, r := range routes.Routes() {
		if r.ID != "getMetrics" || a.o.Metrics != nil {
			list = append(list, route{Route: r, serve: serve[r.ID], serveRepeat: again[r.ID]})
		}
	}
	return list
}
