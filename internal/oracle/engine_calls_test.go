package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

func sources(mounts []container.MountPoint) (list []string) {
	for _, m := range mounts {
		list = append(list, m.Source)
	}
	return list
}

const containerAnswer = `{"Id":"c1","Name":"/one","Image":"sha256:1","Config":{"Labels":{"l":"v"},"Hostname":"h"},"Mounts":[{"Type":"bind","Source":"/a","Destination":"/b"}],
	"State":{"Status":"exited","Pid":7,"ExitCode":3,"OOMKilled":true,"Error":"why"},"HostConfig":{"Memory":5}}`

const imageAnswer = `{"Id":"sha256:1","RepoTags":["a:1","b:2"],"Os":"linux","Architecture":"arm64","Size":12345678901,"Created":"2026-01-02T03:04:05.678901234Z",
	"Config":{"Labels":{"l":"v"},"User":"1:1","Volumes":{"/z":{},"/a":{}}}}`

// The same call of both clients sends the same request, and the same answer gives the same result.
func TestEngineCalls(t *testing.T) {
	labels := map[string]string{"l": "v", "m": ""}
	for _, tt := range []struct {
		name, answer string
		holdfast     func(context.Context, *engine.Engine) (any, error)
		official     func(context.Context, *client.Client) (any, error)
	}{
		{
			"inspect container", containerAnswer,
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.Inspect(ctx, "one two") },
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ContainerInspect(ctx, "one two", client.ContainerInspectOptions{})
				if err != nil {
					return nil, err
				}
				s := r.Container.State
				return engine.Container{
					ID: r.Container.ID, Name: "one", State: engine.State(s.Status), Image: r.Container.Image, Labels: r.Container.Config.Labels,
					Mounts: sources(r.Container.Mounts), PID: s.Pid, ExitCode: s.ExitCode, OOMKilled: s.OOMKilled, Error: s.Error,
				}, nil
			},
		},
		{
			"inspect container raw", containerAnswer,
			func(ctx context.Context, e *engine.Engine) (any, error) {
				raw, err := e.InspectRaw(ctx, "one")
				return string(raw), err
			},
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ContainerInspect(ctx, "one", client.ContainerInspectOptions{})
				return string(r.Raw), err
			},
		},
		{
			"list containers", `[{"Id":"c1","Names":["/one","/other/one"],"State":"running","ImageID":"sha256:1","Labels":{"l":"v","m":""},"Mounts":[{"Source":"/a"}],"Ports":[]}]`,
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.List(ctx, labels) },
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled(labels)})
				if err != nil {
					return nil, err
				}
				s := r.Items[0]
				return []engine.Container{{ID: s.ID, Name: s.Names[0][1:], State: engine.State(s.State), Image: s.ImageID, Labels: s.Labels, Mounts: sources(s.Mounts)}}, nil
			},
		},
		{
			"list all containers", `[]`,
			func(ctx context.Context, e *engine.Engine) (any, error) {
				l, err := e.List(ctx, nil)
				return len(l), err
			},
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
				return len(r.Items), err
			},
		},
		{
			"start container", "",
			func(ctx context.Context, e *engine.Engine) (any, error) { return nil, e.Start(ctx, "one") },
			func(ctx context.Context, c *client.Client) (any, error) {
				_, err := c.ContainerStart(ctx, "one", client.ContainerStartOptions{})
				return nil, err
			},
		},
		{
			"unpause container", "",
			func(ctx context.Context, e *engine.Engine) (any, error) { return nil, e.Unpause(ctx, "one") },
			func(ctx context.Context, c *client.Client) (any, error) {
				_, err := c.ContainerUnpause(ctx, "one", client.ContainerUnpauseOptions{})
				return nil, err
			},
		},
		{
			"stop container", "",
			func(ctx context.Context, e *engine.Engine) (any, error) {
				return nil, e.Stop(ctx, "one", 1500*time.Millisecond)
			},
			func(ctx context.Context, c *client.Client) (any, error) {
				seconds := 2
				_, err := c.ContainerStop(ctx, "one", client.ContainerStopOptions{Timeout: &seconds})
				return nil, err
			},
		},
		{
			"remove container", "",
			func(ctx context.Context, e *engine.Engine) (any, error) { return nil, e.Remove(ctx, "one") },
			func(ctx context.Context, c *client.Client) (any, error) {
				_, err := c.ContainerRemove(ctx, "one", client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
				return nil, err
			},
		},
		{
			"read the log", frames(1, "out\n") + frames(2, "err\xff\n") + frames(0, "in"),
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.Logs(ctx, "one", 7) },
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ContainerLogs(ctx, "one", client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "7"})
				if err != nil {
					return nil, err
				}
				var b bytes.Buffer
				_, err = stdcopy.StdCopy(&b, &b, r)
				return b.String(), errors.Join(err, r.Close())
			},
		},
		{
			"inspect image", imageAnswer,
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.Image(ctx, "x.y:5/a/b:1") },
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ImageInspect(ctx, "x.y:5/a/b:1")
				if err != nil {
					return nil, err
				}
				created, err := time.Parse(time.RFC3339Nano, r.Created)
				return engine.Image{
					ID: r.ID, Tags: r.RepoTags, Labels: r.Config.Labels, Platform: r.Os + "/" + r.Architecture, User: r.Config.User,
					Volumes: slices.Sorted(maps.Keys(r.Config.Volumes)), Size: r.Size, Created: created,
				}, err
			},
		},
		{
			"list images", `[{"Id":"sha256:1","RepoTags":["a:1"],"Labels":{"l":"v","m":""},"Size":5,"Created":1700000000}]`,
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.Images(ctx, labels) },
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ImageList(ctx, client.ImageListOptions{Filters: labelled(labels)})
				if err != nil {
					return nil, err
				}
				s := r.Items[0]
				return []engine.Image{{ID: s.ID, Tags: s.RepoTags, Labels: s.Labels, Size: s.Size, Created: time.Unix(s.Created, 0)}}, nil
			},
		},
		{
			"remove image", `[]`,
			func(ctx context.Context, e *engine.Engine) (any, error) { return nil, e.RemoveImage(ctx, "a/b:1") },
			func(ctx context.Context, c *client.Client) (any, error) {
				_, err := c.ImageRemove(ctx, "a/b:1", client.ImageRemoveOptions{PruneChildren: true})
				return nil, err
			},
		},
		{
			"prune images", `{}`,
			func(ctx context.Context, e *engine.Engine) (any, error) { return nil, e.PruneImages(ctx, labels) },
			func(ctx context.Context, c *client.Client) (any, error) {
				_, err := c.ImagePrune(ctx, client.ImagePruneOptions{Filters: labelled(labels).Add("dangling", "true")})
				return nil, err
			},
		},
		{
			"load images", `{"stream":"Loaded image: a:1\n"}`,
			func(ctx context.Context, e *engine.Engine) (any, error) {
				return nil, e.Load(ctx, strings.NewReader("a tar"), nil)
			},
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ImageLoad(ctx, strings.NewReader("a tar"), client.ImageLoadWithQuiet(true))
				if err != nil {
					return nil, err
				}
				return nil, r.Close()
			},
		},
		{
			"import image", `{"status":"sha256:5"}`,
			func(ctx context.Context, e *engine.Engine) (any, error) {
				return e.Import(ctx, strings.NewReader("a tar"), "a/b:1", []string{"USER 1", "ENV A=b"})
			},
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.ImageImport(ctx, client.ImageImportSource{Source: strings.NewReader("a tar"), SourceName: "-"}, "a/b:1", client.ImageImportOptions{Changes: []string{"USER 1", "ENV A=b"}})
				if err != nil {
					return nil, err
				}
				var m jsonstream.Message
				err = json.NewDecoder(r).Decode(&m)
				return m.Status, errors.Join(err, r.Close())
			},
		},
		{
			"ask for the version", `{"Version":"28","Os":"linux","Arch":"riscv64"}`,
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.Platform(ctx) },
			func(ctx context.Context, c *client.Client) (any, error) {
				v, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
				return v.Os + "/" + v.Arch, err
			},
		},
		{
			"ask for all", `{"Version":"28","NCPU":4,"MemTotal":8,"CgroupVersion":"2","SecurityOptions":["name=seccomp,profile=builtin"],"MemoryLimit":true,"PidsLimit":true}`,
			func(ctx context.Context, e *engine.Engine) (any, error) { return e.Info(ctx) },
			func(ctx context.Context, c *client.Client) (any, error) {
				v, err1 := c.ServerVersion(ctx, client.ServerVersionOptions{})
				r, err2 := c.Info(ctx, client.InfoOptions{})
				return engine.Info{Name: "Docker " + v.Version, API: c.ClientVersion(), CPUs: r.Info.NCPU, Memory: r.Info.MemTotal, Cgroup: r.Info.CgroupVersion}, errors.Join(err1, err2)
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newEngineServer(t)
			s.answers[""] = tt.answer
			e, c := both(t, s)
			a, err1 := tt.holdfast(t.Context(), e)
			holdfast := s.taken()
			b, err2 := tt.official(t.Context(), c)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			sameRequests(t, holdfast, s.taken())
			if text, ok := b.(string); ok { // the engine client's text, without surrounding white space
				b = strings.TrimSpace(text)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%+v, by Docker's client %+v", a, b)
			}
		})
	}
}
