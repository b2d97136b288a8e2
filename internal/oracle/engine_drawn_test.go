package oracle

import (
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

func drawLabels(rt *rapid.T, name string) map[string]string {
	return rapid.MapOfN(rapid.StringMatching(`[a-z.]{1,8}`), rapid.StringMatching(`[a-z= é"]{0,8}`), 0, 3).Draw(rt, name)
}

// Both clients send the same request to create a container.
func TestEngineCreate(t *testing.T) {
	s := newEngineServer(t)
	s.answers[""] = `{"Id":"c1"}`
	holdfast, official := both(t, s)
	text := rapid.StringMatching(`[a-zA-Z0-9/:é]{1,12}`)
	rapid.Check(t, func(rt *rapid.T) {
		spec := engine.Spec{
			Name: rapid.StringMatching(`[a-z0-9-]{0,8}`).Draw(rt, "name"), Image: text.Draw(rt, "image"), Labels: drawLabels(rt, "labels"),
			Command: rapid.SliceOfN(text, 0, 3).Draw(rt, "command"), User: text.Draw(rt, "user"), Hostname: text.Draw(rt, "host"), Dir: text.Draw(rt, "dir"),
			Env: rapid.SliceOfN(text, 0, 3).Draw(rt, "env"), Memory: rapid.Int64Range(0, 1<<40).Draw(rt, "memory"), NanoCPUs: rapid.Int64Range(0, 1e10).Draw(rt, "cpus"),
			PIDs: rapid.Int64Range(0, 3).Draw(rt, "pids"), Files: rapid.Int64Range(0, 3).Draw(rt, "files"), UserNS: rapid.SampledFrom([]string{"", "host", "keep-id"}).Draw(rt, "userns"),
			Seccomp: rapid.SampledFrom([]string{"", "builtin"}).Draw(rt, "seccomp"), Remove: rapid.Bool().Draw(rt, "remove"), LogBytes: rapid.Int64Range(0, 2).Draw(rt, "log"),
		}
		for range rapid.IntRange(0, 2).Draw(rt, "mounts") {
			spec.Mounts = append(spec.Mounts, engine.Mount{Source: text.Draw(rt, "source"), Target: text.Draw(rt, "target"), ReadOnly: rapid.Bool().Draw(rt, "ro")})
		}
		if rapid.Bool().Draw(rt, "tmpfs") {
			spec.Tmpfs = []engine.Tmpfs{{Target: "/tmp", Size: 1 << 20, Mode: 0o755, UID: 5, GID: 6}}
		}
		id, err := holdfast.Create(t.Context(), spec)
		if err != nil || id != "c1" {
			t.Fatal(id, err)
		}
		a := s.taken()
		r, err := official.ContainerCreate(t.Context(), createOptions(spec))
		if err != nil || r.ID != id {
			t.Fatal(r, err)
		}
		sameRequests(t, a, s.taken())
	})
}

// createOptions returns a specification in Docker's types.
func createOptions(s engine.Spec) client.ContainerCreateOptions {
	yes, size := true, "1048576"
	if s.LogBytes > 0 {
		size = string('0' + byte(s.LogBytes))
	}
	host := &container.HostConfig{
		NetworkMode: "none", Init: &yes, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
		IpcMode: container.IPCModePrivate, AutoRemove: s.Remove, UsernsMode: container.UsernsMode(s.UserNS),
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": size, "max-file": "1"}},
		Resources: container.Resources{Memory: s.Memory, MemorySwap: s.Memory, NanoCPUs: s.NanoCPUs, Ulimits: []*container.Ulimit{{Name: "core"}}},
	}
	if s.PIDs > 0 {
		host.PidsLimit = &s.PIDs
	}
	if s.Files > 0 {
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: "nofile", Soft: s.Files, Hard: s.Files})
	}
	if s.Seccomp != "" {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+s.Seccomp)
	}
	for _, m := range s.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	if s.Tmpfs != nil {
		host.Tmpfs = map[string]string{"/tmp": "rw,exec,nosuid,nodev,mode=755,uid=5,gid=6,size=1048576"}
	}
	return client.ContainerCreateOptions{Name: s.Name, HostConfig: host, Config: &container.Config{
		Image: s.Image, User: s.User, Hostname: s.Hostname, WorkingDir: s.Dir, Env: slices.Clone(s.Env), Labels: s.Labels,
		Entrypoint: s.Command, Cmd: []string{}, StopSignal: "SIGTERM", Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}}
}

// Both clients send the same requests to build and to tag an image.
func TestEngineBuild(t *testing.T) {
	s := newEngineServer(t)
	id := "sha256:" + strings.Repeat("1", 64)
	s.answers["build"] = `{"stream":"Step 1/1\n"}{"aux":{"ID":"` + id + `"}}`
	holdfast, official := both(t, s)
	rapid.Check(t, func(rt *rapid.T) {
		o := engine.BuildOptions{
			Ref: "a/b:c", Dockerfile: rapid.SampledFrom([]string{"", "a/Dockerfile"}).Draw(rt, "file"), Labels: drawLabels(rt, "labels"), Args: drawLabels(rt, "args"),
			Fresh: rapid.Bool().Draw(rt, "fresh"), Network: rapid.SampledFrom([]string{"", "none", "default", "host"}).Draw(rt, "network"),
		}
		if got, err := holdfast.Build(t.Context(), strings.NewReader("a tar"), o); err != nil || got != id {
			t.Fatal(got, err)
		}
		a := s.taken()
		if o.Network == "" {
			o.Network = "none"
		}
		args := map[string]*string{}
		for k, v := range o.Args {
			args[k] = &v
		}
		r, err := official.ImageBuild(t.Context(), strings.NewReader("a tar"), client.ImageBuildOptions{
			Dockerfile: o.Dockerfile, Labels: o.Labels, BuildArgs: args, NoCache: o.Fresh, NetworkMode: o.Network, Remove: true, ForceRemove: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if _, err := official.ImageTag(t.Context(), client.ImageTagOptions{Source: id, Target: o.Ref}); err != nil {
			t.Fatal(err)
		}
		sameRequests(t, a, s.taken())
	})
}

// Both clients parse the name of an image alike, or reject it.
func TestEngineReferences(t *testing.T) {
	s := newEngineServer(t)
	holdfast, official := both(t, s)
	hex := rapid.StringMatching(`[0-9a-f]{63,65}|[0-9a-f]{96}|[0-9a-f]{128}|[0-9A-F]{64}|[0-9a-f]{32}`)
	name := rapid.Custom(func(rt *rapid.T) string {
		host := rapid.SampledFrom([]string{"", "", "docker.io/", "index.docker.io/", "localhost/", "library/", "Host/", "x.y:5/", "[::1]:5/", "[::1]/", "a__b.c/", "-a.b/", "x.y:/", "a:b/", "127.0.0.1:1/", "é.x/"}).Draw(rt, "host")
		path := rapid.OneOf(rapid.StringMatching(`[a-z0-9]{1,5}((\.|_|__|-{1,3})[a-z0-9]{1,3}){0,2}(/[a-z]{1,3}){0,2}`), rapid.StringMatching(`[a-zA-Z._:/@-]{0,8}`), hex).Draw(rt, "path")
		tag := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`:[\w.-]{0,6}`), rapid.StringMatching(`:[a-z]{127,129}`)).Draw(rt, "tag")
		digest := rapid.OneOf(rapid.Just(""), rapid.Just(""), rapid.Map(hex, func(h string) string { return "@sha256:" + h }), rapid.Map(hex, func(h string) string { return "@sha512:" + h }), rapid.StringMatching(`@[a-z0-9+]{0,6}:[0-9a-f]{32}`)).Draw(rt, "digest")
		return host + path + tag + digest
	})
	source := rapid.OneOf(rapid.Just("debian"), name, hex, rapid.Map(hex, func(h string) string { return "sha384:" + h }), rapid.Map(hex, func(h string) string { return "sha256:" + h }))
	same := func(from, to string) {
		err1 := holdfast.Tag(t.Context(), from, to)
		a := s.taken()
		_, err2 := official.ImageTag(t.Context(), client.ImageTagOptions{Source: from, Target: to})
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q as %q: %v, by Docker's client: %v", from, to, err1, err2)
		}
		sameRequests(t, a, s.taken())
	}
	for _, sum := range []string{"sha256:" + strings.Repeat("a", 64), "sha384:" + strings.Repeat("a", 96), "sha512:" + strings.Repeat("a", 128), "sha384:" + strings.Repeat("a", 64), "sha1:" + strings.Repeat("a", 40)} {
		same(sum, "debian")
		same("debian@"+sum, "debian")
		same("debian", "debian@"+sum)
	}
	for _, to := range []string{
		"", "debian", "debian:12", "docker.io/debian", "a/b/c", "a//b", "/a", "a/", "A", "a:B", "a:", "a@", ":", "@", "a b", "\xff", "é", "docker.io/", "docker.io/library/", "library/",
		strings.Repeat("a", 247), strings.Repeat("a", 248), "x.y/" + strings.Repeat("a", 255), "x.y/" + strings.Repeat("a", 256), "a_b.c/" + strings.Repeat("a", 249), "a_b.c/" + strings.Repeat("a", 250),
		strings.Repeat("a", 64), strings.Repeat("a", 63), "a\n", "a:b\n", "localhost", "localhost:5000", "localhost:5000/a", "a..b/c", "[::g]/a", "[]/a", "[::1]", "a.b:99999999/c",
	} {
		same("debian", to)
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 30 {
			same(source.Draw(rt, "source"), name.Draw(rt, "name"))
		}
	})
}
