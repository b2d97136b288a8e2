package routes

import (
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Workspace is a workspace. If its settings cannot be read, it has only its name, its folder and
// the problem.
type Workspace struct {
	Slug           string            `json:"slug" jsonschema:"name of the workspace"`
	ID             string            `json:"id,omitempty" jsonschema:"distinguishes it from an earlier workspace with the same name"`
	Created        time.Time         `json:"created,omitzero"`
	Project        string            `json:"project,omitempty" jsonschema:"the folder mounted as /work; omitted if the workspace has a folder of its own"`
	Image          string            `json:"image,omitempty" jsonschema:"image of the container; omitted for the default"`
	Agent          *WorkspaceAgent   `json:"agent,omitempty"`
	Model          string            `json:"model,omitempty" jsonschema:"model, by the name that the agent uses"`
	Limits         *WorkspaceLimits  `json:"limits,omitempty"`
	Network        *WorkspaceNetwork `json:"network,omitempty"`
	Mounts         []WorkspaceMount  `json:"mounts,omitempty"`
	Credentials    []string          `json:"credentials,omitempty" jsonschema:"names of environment variables that agents receive"`
	Trust          string            `json:"trust,omitempty" jsonschema:"sandboxed"`
	Folder         string            `json:"folder" jsonschema:"folder of the workspace's own files"`
	SessionProject string            `json:"session_project,omitempty" jsonschema:"the project of its sessions, for GET /v1/sessions"`
	Container      *Container        `json:"container,omitempty"`
	Problem        string            `json:"problem,omitempty" jsonschema:"error reading the settings or the container"`
	Hint           string            `json:"hint,omitempty"`
}

// Container is the container of a workspace.
type Container struct {
	Name       string `json:"name"`
	ID         string `json:"id,omitempty"`
	State      string `json:"state" jsonschema:"state of the container; absent if there is none"`
	Image      string `json:"image,omitempty"`
	Outdated   bool   `json:"outdated,omitempty" jsonschema:"true if it is recreated at the next start"`
	Processes  int    `json:"processes" jsonschema:"number of agents and commands running in it; -1 if unknown"`
	Confined   bool   `json:"confined,omitempty" jsonschema:"true if its sessions cannot reach each other"`
	Unconfined string `json:"unconfined,omitempty" jsonschema:"why its sessions can reach each other"`
}

// WorkspaceAgent is the agent of a workspace.
type WorkspaceAgent struct {
	Kind    string   `json:"kind" jsonschema:"holdfast, claude, codex or acp"`
	Command []string `json:"command,omitempty" jsonschema:"command that starts it instead of its own program"`
}

// WorkspaceLimits are the limits of a workspace.
type WorkspaceLimits struct {
	Memory string  `json:"memory,omitempty" jsonschema:"512m, 2g"`
	CPUs   float64 `json:"cpus,omitempty"`
	PIDs   int64   `json:"pids,omitempty" jsonschema:"maximum number of processes and threads"`
	Disk   string  `json:"disk,omitempty" jsonschema:"maximum size on disk, such as 20g, or none"`
}

// WorkspaceNetwork describes which hosts a workspace can reach.
type WorkspaceNetwork struct {
	Mode    string   `json:"mode" jsonschema:"none or proxy"`
	Domains []string `json:"domains,omitempty" jsonschema:"domains that the proxy allows"`
}

// WorkspaceMount is a folder of the host mounted in the container.
type WorkspaceMount struct {
	Host     string `json:"host"`
	Target   string `json:"at"`
	ReadOnly bool   `json:"readonly,omitempty"`
}

// WorkspacePatch changes a workspace: nil leaves a setting unchanged.
type WorkspacePatch struct {
	Project     *string           `json:"project,omitempty" jsonschema:"an absolute folder without links on the daemon's machine; empty for a folder of its own"`
	Image       *string           `json:"image,omitempty"`
	Agent       *WorkspaceAgent   `json:"agent,omitempty" jsonschema:"replaced as a whole"`
	Model       *string           `json:"model,omitempty"`
	Limits      *LimitsPatch      `json:"limits,omitempty" jsonschema:"omitted limits stay unchanged"`
	Network     *WorkspaceNetwork `json:"network,omitempty" jsonschema:"replaced as a whole"`
	Mounts      []WorkspaceMount  `json:"mounts,omitempty"`
	Credentials []string          `json:"credentials,omitempty"`
}

// NewWorkspace describes a workspace to create.
type NewWorkspace struct {
	Slug string `json:"slug" jsonschema:"1 to 63 letters a to z and digits, with dashes in between"`
	WorkspacePatch
}

// LimitsPatch changes limits: nil leaves a limit unchanged.
type LimitsPatch struct {
	Memory *string  `json:"memory,omitempty" jsonschema:"512m, 2g"`
	CPUs   *float64 `json:"cpus,omitempty"`
	PIDs   *int64   `json:"pids,omitempty" jsonschema:"maximum number of processes and threads"`
	Disk   *string  `json:"disk,omitempty" jsonschema:"maximum size on disk, such as 20g, or none"`
}

// DeletedWorkspace reports what was deleted with a workspace.
type DeletedWorkspace struct {
	Deleted  string   `json:"deleted" jsonschema:"name of the workspace"`
	Entries  int64    `json:"entries" jsonschema:"number of removed files and folders"`
	Sessions int      `json:"sessions_told" jsonschema:"number of its sessions, which are kept"`
	Notices  []string `json:"notices,omitempty"`
}

// WorkspaceUsage is the disk usage of a workspace.
type WorkspaceUsage struct {
	Slug      string         `json:"slug"`
	Home      WorkspaceSize  `json:"home"`
	Project   *WorkspaceSize `json:"project,omitempty" jsonschema:"usage of a project that belongs to the workspace; others are not measured"`
	Bytes     int64          `json:"bytes" jsonschema:"sum of both, which the limit applies to"`
	Limit     string         `json:"limit"`
	OverLimit bool           `json:"over" jsonschema:"true if the limit is exceeded; no new turn begins then"`
}

// WorkspaceSize is the size of a folder.
type WorkspaceSize struct {
	Bytes   int64 `json:"bytes"`
	Files   int64 `json:"files"`
	Folders int64 `json:"folders"`
	Unread  int64 `json:"unread,omitempty" jsonschema:"number of folders that could not be read; their contents are not included"`
}

// WorkspaceFile is an entry of a folder.
type WorkspaceFile struct {
	Name    string    `json:"name" jsonschema:"name; it may contain line breaks and any other character"`
	Escaped string    `json:"escaped,omitempty" jsonschema:"the name escaped for a URL, if it is not valid UTF-8"`
	Type    string    `json:"type" jsonschema:"file, folder, link or other"`
	Size    int64     `json:"size,omitempty" jsonschema:"size of a file, in bytes"`
	ModTime time.Time `json:"modified,omitzero"`
	Links   int64     `json:"links,omitempty" jsonschema:"number of names of a file, if more than one"`
	Target  string    `json:"target,omitempty" jsonschema:"target of a link"`
}

// Image is a container image.
type Image struct {
	ID       string    `json:"id"`
	Tags     []string  `json:"tags"`
	Variant  string    `json:"variant"`
	Version  string    `json:"version" jsonschema:"version of holdfast that built it"`
	Binary   string    `json:"binary" jsonschema:"SHA-256 of the holdfast program in it"`
	Protocol int       `json:"protocol" jsonschema:"protocol version of its supervisor"`
	Agents   []string  `json:"with,omitempty" jsonschema:"vendor agents in it, with their versions"`
	Base     string    `json:"base,omitempty" jsonschema:"id of the base image"`
	Size     int64     `json:"size" jsonschema:"size in bytes"`
	Created  time.Time `json:"created,omitzero"`
}

// NewImage is a request to build an image.
type NewImage struct {
	Variant string   `json:"variant,omitempty" jsonschema:"scratch (the default) or debian"`
	Agents  []string `json:"with,omitempty" jsonschema:"for debian: claude, codex, each with @VERSION; default: the tested version"`
	Base    string   `json:"base,omitempty" jsonschema:"for debian: base image, which the engine must have"`
	Tag     string   `json:"tag,omitempty" jsonschema:"default: holdfast/workspace: followed by the variant"`
	NoCache bool     `json:"fresh,omitempty" jsonschema:"rebuild everything, including parts that exist"`
}

func workspaceRoutes() []Route {
	some := orNotFound(outcome.NotOffered, outcome.Corrupt)
	ran := orNotFound(outcome.NotOffered, outcome.Corrupt, outcome.NoEngine, outcome.Conflict)
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/workspaces", ID: "listWorkspaces", Tag: "workspaces",
			Doc:   "Lists all workspaces by name, with their containers. A damaged workspace is listed with its problem.",
			Scope: api.ScopeRead, Response: api.Page[Workspace]{}, Problems: []outcome.Outcome{outcome.NotOffered},
		},
		{
			Method: http.MethodPost, Path: "/v1/workspaces", ID: "createWorkspace", Tag: "workspaces",
			Doc:   "Creates a workspace. The container is created when it is first needed.",
			Scope: api.ScopeAdmin, Body: NewWorkspace{}, Status: http.StatusCreated, Response: Workspace{},
			Problems: []outcome.Outcome{outcome.NotOffered, outcome.Conflict},
		},
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}", ID: "getWorkspace", Tag: "workspaces", Doc: "Returns one workspace.",
			Scope: api.ScopeRead, Response: Workspace{}, Problems: some,
		},
		{
			Method: http.MethodPatch, Path: "/v1/workspaces/{slug}", ID: "patchWorkspace", Tag: "workspaces",
			Doc: "Changes settings. Omitted fields stay unchanged; a list is replaced as a whole. A running container is recreated " +
				"when no agent or command runs in it.",
			Scope: api.ScopeAdmin, Body: WorkspacePatch{}, OptionalBody: true, Response: Workspace{}, Problems: some,
		},
		{
			Method: http.MethodDelete, Path: "/v1/workspaces/{slug}", ID: "deleteWorkspace", Tag: "workspaces",
			Doc: "Deletes a workspace: its container, the home folder of its agents, and a project that belongs to it. Sessions are kept. " +
				"An interrupted deletion can be repeated.",
			Scope: api.ScopeAdmin, Response: DeletedWorkspace{}, Problems: append(ran, outcome.Busy),
			Query: []Param{{Name: "no_engine", Doc: "do not delete the container; for a container engine that no longer exists", Type: "boolean"}},
		},
		{
			Method: http.MethodPost, Path: "/v1/workspaces/{slug}/start", ID: "startWorkspace", Tag: "workspaces",
			Doc: "Creates or starts the container.", Scope: api.ScopeRun, Response: Workspace{}, Problems: ran,
		},
		{
			Method: http.MethodPost, Path: "/v1/workspaces/{slug}/stop", ID: "stopWorkspace", Tag: "workspaces",
			Doc:   "Stops the container and everything that runs in it. The container is kept.",
			Scope: api.ScopeRun, Response: Workspace{}, Problems: ran,
		},
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}/usage", ID: "getWorkspaceUsage", Tag: "workspaces",
			Doc:   "Returns the disk usage of a workspace. It is measured for each request.",
			Scope: api.ScopeRead, Response: WorkspaceUsage{}, Problems: some,
		},
	}
}

// fileRoutes are the routes of a workspace's files. The file names come from untrusted agents, and
// no link is followed.
func fileRoutes() []Route {
	in := Param{Name: "in", Doc: "home: the agents' home folder; project: the project folder", Enum: []string{"home", "project"}, Required: true}
	file := Param{Name: "path", Doc: "path below that folder, with slashes", Required: true}
	problems := orNotFound(outcome.NotOffered, outcome.Corrupt, outcome.TooLarge)
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}/files", ID: "listWorkspaceFiles", Tag: "workspaces",
			Doc: "Lists a folder by name.", Scope: api.ScopeRead, Response: api.Page[WorkspaceFile]{}, Problems: problems,
			Query: paged(in, Param{Name: "path", Doc: "the folder; default: home or project itself"},
				Param{Name: "hidden", Doc: "include names that begin with a dot", Type: "boolean"}),
		},
		{
			Method: http.MethodGet, Path: "/v1/workspaces/{slug}/files/content", ID: "readWorkspaceFile", Tag: "workspaces",
			Doc:   "Returns a file. An agent's home folder may contain its keys, so the scope read is not enough.",
			Scope: api.ScopeRun, Types: []string{octets}, Query: []Param{in, file}, Problems: problems,
		},
		{
			Method: http.MethodPut, Path: "/v1/workspaces/{slug}/files/content", ID: "writeWorkspaceFile", Tag: "workspaces",
			Doc:   "Writes a file atomically and replaces an existing one. Missing folders are created.",
			Scope: api.ScopeRun, RawBody: octets, Query: []Param{in, file}, Response: WorkspaceFile{},
			Problems: append(problems, outcome.Full, outcome.MediaType),
		},
		{
			Method: http.MethodDelete, Path: "/v1/workspaces/{slug}/files", ID: "deleteWorkspaceFile", Tag: "workspaces",
			Doc:   "Removes a file, a link, or a folder with its contents.",
			Scope: api.ScopeRun, Status: http.StatusNoContent, Query: []Param{in, file}, Problems: problems,
		},
	}
}

func imageRoutes() []Route {
	problems := []outcome.Outcome{outcome.NotOffered, outcome.NoEngine}
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/images", ID: "listImages", Tag: "workspaces",
			Doc: "Lists the workspace images by name.", Scope: api.ScopeRead, Response: api.Page[Image]{},
			Problems: problems,
		},
		{
			Method: http.MethodPost, Path: "/v1/images", ID: "buildImage", Tag: "workspaces",
			Doc: "Builds a workspace image with this program; only one build runs at a time. With Accept: text/event-stream the response is a stream of events: " +
				"progress events, and at the end one event image, or one event failed with a problem. The build is cancelled if the client disconnects.",
			Scope: api.ScopeAdmin, Body: NewImage{}, OptionalBody: true, Response: Image{}, Status: http.StatusCreated, Types: []string{EventStream}, Streams: true,
			Problems: append(problems, outcome.Busy),
		},
	}
}
