package routes

import (
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Workspace is a workspace. One whose settings cannot be read has only its name, its folder
// and the problem.
type Workspace struct {
	Slug           string            `json:"slug" jsonschema:"its name"`
	ID             string            `json:"id,omitempty" jsonschema:"distinguishes it from an earlier one of the same name"`
	Created        time.Time         `json:"created,omitzero"`
	Project        string            `json:"project,omitempty" jsonschema:"the folder that is /work inside; left out of one that has a folder of its own"`
	Image          string            `json:"image,omitempty" jsonschema:"image of the container; left out for the default"`
	Agent          *WorkspaceAgent   `json:"agent,omitempty"`
	Model          string            `json:"model,omitempty" jsonschema:"the agent's name of its model"`
	Limits         *WorkspaceLimits  `json:"limits,omitempty"`
	Network        *WorkspaceNetwork `json:"network,omitempty"`
	Mounts         []WorkspaceMount  `json:"mounts,omitempty"`
	Credentials    []string          `json:"credentials,omitempty" jsonschema:"names of variables whose values agents get"`
	Trust          string            `json:"trust,omitempty" jsonschema:"sandboxed"`
	Folder         string            `json:"folder" jsonschema:"where its own files are"`
	SessionProject string            `json:"session_project,omitempty" jsonschema:"the project of its sessions, for GET /v1/sessions"`
	Container      *Container        `json:"container,omitempty"`
	Problem        string            `json:"problem,omitempty" jsonschema:"why the settings or the container cannot be read"`
	Hint           string            `json:"hint,omitempty"`
}

// Container is the container of a workspace.
type Container struct {
	Name       string `json:"name"`
	ID         string `json:"id,omitempty"`
	State      string `json:"state" jsonschema:"absent where there is none"`
	Image      string `json:"image,omitempty"`
	Outdated   bool   `json:"outdated,omitempty" jsonschema:"it is replaced at the next start"`
	Processes  int    `json:"processes" jsonschema:"agents and commands that run in it; -1 when that is unknown"`
	Confined   bool   `json:"confined,omitempty" jsonschema:"sessions in it cannot reach each other"`
	Unconfined string `json:"unconfined,omitempty" jsonschema:"why they can"`
}

// WorkspaceAgent is the agent of a workspace.
type WorkspaceAgent struct {
	Kind    string   `json:"kind" jsonschema:"holdfast, claude, codex or acp"`
	Command []string `json:"command,omitempty" jsonschema:"starts it instead of its own program"`
}

// WorkspaceLimits are the limits of a workspace.
type WorkspaceLimits struct {
	Memory string  `json:"memory,omitempty" jsonschema:"512m, 2g"`
	CPUs   float64 `json:"cpus,omitempty"`
	PIDs   int64   `json:"pids,omitempty" jsonschema:"processes and threads"`
	Disk   string  `json:"disk,omitempty" jsonschema:"20g, or none"`
}

// WorkspaceNetwork is what a workspace can reach.
type WorkspaceNetwork struct {
	Mode    string   `json:"mode" jsonschema:"none or proxy"`
	Domains []string `json:"domains,omitempty" jsonschema:"what the proxy allows"`
}

// WorkspaceMount is a folder of the host inside.
type WorkspaceMount struct {
	Host     string `json:"host"`
	Target   string `json:"at"`
	ReadOnly bool   `json:"readonly,omitempty"`
}

// WorkspacePatch changes a workspace: nil leaves a setting alone.
type WorkspacePatch struct {
	Project     *string           `json:"project,omitempty" jsonschema:"a folder of the daemon's machine, absolute and without links; empty is a folder of its own"`
	Image       *string           `json:"image,omitempty"`
	Agent       *WorkspaceAgent   `json:"agent,omitempty" jsonschema:"replaced as a whole"`
	Model       *string           `json:"model,omitempty"`
	Limits      *LimitsPatch      `json:"limits,omitempty" jsonschema:"a limit that is left out stays"`
	Network     *WorkspaceNetwork `json:"network,omitempty" jsonschema:"replaced as a whole"`
	Mounts      []WorkspaceMount  `json:"mounts,omitempty"`
	Credentials []string          `json:"credentials,omitempty"`
}

// NewWorkspace describes a workspace to create.
type NewWorkspace struct {
	Slug string `json:"slug" jsonschema:"1 to 63 letters a to z, digits and dashes in between"`
	WorkspacePatch
}

// LimitsPatch changes limits: nil leaves one alone.
type LimitsPatch struct {
	Memory *string  `json:"memory,omitempty" jsonschema:"512m, 2g"`
	CPUs   *float64 `json:"cpus,omitempty"`
	PIDs   *int64   `json:"pids,omitempty" jsonschema:"processes and threads"`
	Disk   *string  `json:"disk,omitempty" jsonschema:"20g, or none"`
}

// DeletedWorkspace is what was deleted with a workspace.
type DeletedWorkspace struct {
	Deleted  string   `json:"deleted" jsonschema:"its name"`
	Entries  int64    `json:"entries" jsonschema:"files and folders that were removed"`
	Sessions int      `json:"sessions_told" jsonschema:"its sessions; they stay"`
	Notices  []string `json:"notices,omitempty"`
}

// WorkspaceUsage is what a workspace keeps on disk.
type WorkspaceUsage struct {
	Slug      string         `json:"slug"`
	Home      WorkspaceSize  `json:"home"`
	Project   *WorkspaceSize `json:"project,omitempty" jsonschema:"of a project that belongs to the workspace; others are not measured"`
	Bytes     int64          `json:"bytes" jsonschema:"of both; it counts against the limit"`
	Limit     string         `json:"limit"`
	OverLimit bool           `json:"over" jsonschema:"no new turn begins"`
}

// WorkspaceSize is what a folder holds.
type WorkspaceSize struct {
	Bytes   int64 `json:"bytes"`
	Files   int64 `json:"files"`
	Folders int64 `json:"folders"`
	Unread  int64 `json:"unread,omitempty" jsonschema:"folders that could not be read; their contents are not counted"`
}

// WorkspaceFile is an entry of a folder.
type WorkspaceFile struct {
	Name    string    `json:"name" jsonschema:"it may hold line breaks, and anything else"`
	Escaped string    `json:"escaped,omitempty" jsonschema:"the name for a URL, where it is no UTF-8"`
	Type    string    `json:"type" jsonschema:"file, folder, link or other"`
	Size    int64     `json:"size,omitempty" jsonschema:"of a file, in bytes"`
	ModTime time.Time `json:"modified,omitzero"`
	Links   int64     `json:"links,omitempty" jsonschema:"how many names a file has, where that is more than one"`
	Target  string    `json:"target,omitempty" jsonschema:"of a link"`
}

// Image is an image of containers.
type Image struct {
	ID       string    `json:"id"`
	Tags     []string  `json:"tags"`
	Variant  string    `json:"variant"`
	Version  string    `json:"version" jsonschema:"of holdfast that built it"`
	Binary   string    `json:"binary" jsonschema:"SHA-256 of the program in it"`
	Protocol int       `json:"protocol" jsonschema:"of its supervisor"`
	Agents   []string  `json:"with,omitempty" jsonschema:"agents, with their versions"`
	Base     string    `json:"base,omitempty" jsonschema:"id of the base"`
	Size     int64     `json:"size" jsonschema:"in bytes"`
	Created  time.Time `json:"created,omitzero"`
}

// NewImage describes an image to build.
type NewImage struct {
	Variant string   `json:"variant,omitempty" jsonschema:"scratch (the default) or debian"`
	Agents  []string `json:"with,omitempty" jsonschema:"for debian: claude, codex, each with @VERSION or in the version that was tested"`
	Base    string   `json:"base,omitempty" jsonschema:"for debian: an image that the engine has"`
	Tag     string   `json:"tag,omitempty" jsonschema:"default holdfast/workspace: and the variant"`
	NoCache bool     `json:"fresh,omitempty" jsonschema:"build again what exists"`
}

func workspaceRoutes() []Route {
	some := one(outcome.NotOffered, outcome.Corrupt)
	ran := one(outcome.NotOffered, outcome.Corrupt, outcome.NoEngine, outcome.Conflict)
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/workspaces", ID: "listWorkspaces", Tag: "workspaces",
			Doc:   "All workspaces, by name, with their containers. One that is damaged is in the list, with its problem.",
			Scope: api.ScopeRead, Response: api.Page[Workspace]{}, Problems: []outcome.Outcome{outcome.NotOffered},
		},
		{
			Method: http.MethodPost, Path: "/v1/workspaces", ID: "createWorkspace", Tag: "workspaces",
			Doc:   "Creates a workspace. Its container is created when it is first needed.",
			Scope: api.ScopeAdmin, Body: NewWorkspace{}, Status: http.StatusCreated, Response: Workspace{},
			Problems: []outcome.Outcome{outcome.NotOffered, outcome.Conflict},
		},
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}", ID: "getWorkspace", Tag: "workspaces", Doc: "One workspace.",
			Scope: api.ScopeRead, Response: Workspace{}, Problems: some,
		},
		{
			Method: http.MethodPatch, Path: "/v1/workspaces/{slug}", ID: "patchWorkspace", Tag: "workspaces",
			Doc: "Changes settings. What is left out stays, a list is replaced as a whole. A container that runs is created again " +
				"when nothing runs in it.",
			Scope: api.ScopeAdmin, Body: WorkspacePatch{}, OptionalBody: true, Response: Workspace{}, Problems: some,
		},
		{
			Method: http.MethodDelete, Path: "/v1/workspaces/{slug}", ID: "deleteWorkspace", Tag: "workspaces",
			Doc: "Deletes a workspace: its container, the home of its agents, and a project that belongs to it. Sessions stay. " +
				"A deletion that was cut short can be repeated.",
			Scope: api.ScopeAdmin, Response: DeletedWorkspace{}, Problems: append(ran, outcome.Busy),
			Query: []Param{{Name: "no_engine", Doc: "leave out the container: for when its engine is gone for good", Type: "boolean"}},
		},
		{
			Method: http.MethodPost, Path: "/v1/workspaces/{slug}/start", ID: "startWorkspace", Tag: "workspaces",
			Doc: "Creates or starts the container.", Scope: api.ScopeRun, Response: Workspace{}, Problems: ran,
		},
		{
			Method: http.MethodPost, Path: "/v1/workspaces/{slug}/stop", ID: "stopWorkspace", Tag: "workspaces",
			Doc:   "Stops the container, with everything that runs in it. It is kept.",
			Scope: api.ScopeRun, Response: Workspace{}, Problems: ran,
		},
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}/usage", ID: "getWorkspaceUsage", Tag: "workspaces",
			Doc:   "What a workspace keeps on disk. It is measured for each request.",
			Scope: api.ScopeRead, Response: WorkspaceUsage{}, Problems: some,
		},
	}
}

// fileRoutes are the files of a workspace. Agents that nobody trusts choose the names, and no
// link is followed.
func fileRoutes() []Route {
	in := Param{Name: "in", Doc: "home: what agents keep; project: what they work on", Enum: []string{"home", "project"}, Required: true}
	file := Param{Name: "path", Doc: "below that folder, with slashes", Required: true}
	problems := one(outcome.NotOffered, outcome.Corrupt, outcome.TooLarge)
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}/files", ID: "listWorkspaceFiles", Tag: "workspaces",
			Doc: "A folder, by name.", Scope: api.ScopeRead, Response: api.Page[WorkspaceFile]{}, Problems: problems,
			Query: paged(in, Param{Name: "path", Doc: "the folder; left out: the first one"},
				Param{Name: "hidden", Doc: "also names that begin with a dot", Type: "boolean"}),
		},
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}/files/content", ID: "readWorkspaceFile", Tag: "workspaces",
			Doc:   "A file. The home of an agent may hold its keys, so the scope read is not enough.",
			Scope: api.ScopeRun, Types: []string{octets}, Query: []Param{in, file}, Problems: problems,
		},
		{
			Method: http.MethodPut, Path: "/v1/workspaces/{slug}/files/content", ID: "writeWorkspaceFile", Tag: "workspaces",
			Doc:   "Writes a file whole or not at all, and replaces one of the same name. Missing folders are created.",
			Scope: api.ScopeRun, RawBody: octets, Query: []Param{in, file}, Response: WorkspaceFile{},
			Problems: append(problems, outcome.Full, outcome.MediaType),
		},
		{
			Method: http.MethodDelete, Path: "/v1/workspaces/{slug}/files", ID: "deleteWorkspaceFile", Tag: "workspaces",
			Doc:   "Removes a file, a link, or a folder with all below it.",
			Scope: api.ScopeRun, Status: http.StatusNoContent, Query: []Param{in, file}, Problems: problems,
		},
	}
}

func imageRoutes() []Route {
	problems := []outcome.Outcome{outcome.NotOffered, outcome.NoEngine}
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/images", ID: "listImages", Tag: "workspaces",
			Doc: "The images of workspaces that were built, by name.", Scope: api.ScopeRead, Response: api.Page[Image]{},
			Problems: problems,
		},
		{
			Method: http.MethodPost, Path: "/v1/images", ID: "buildImage", Tag: "workspaces",
			Doc: "Builds an image of this program, one at a time. With Accept: text/event-stream it reports progress: events " +
				"progress, and at the end image or failed, with a problem. A client that disconnects ends the build.",
			Scope: api.ScopeAdmin, Body: NewImage{}, OptionalBody: true, Response: Image{}, Status: http.StatusCreated, Types: []string{EventStream}, Streams: true,
			Problems: append(problems, outcome.Busy),
		},
	}
}
