package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// recipe is the version of the build steps in this package.
const recipe = 1

// Build builds an image and returns its id. Progress, which may be nil, is called from one goroutine at a time. An
// existing image with the same input is reused, unless the spec has NoCache. Errors: [ErrInvalid], [ErrBinary],
// [ErrNoBase], [ErrPackage], [ErrNoImage] for a base that the engine does not have.
//
// Concurrent builds of the same name, in one process or in many processes of one user, run one
// after the other. If a build is canceled or fails, the name stays on the old image.
func Build(ctx context.Context, e *engine.Engine, s Spec, progress func(Progress)) (id string, err error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	b := &build{engine: e, progress: progress}
	if b.spec, err = s.complete(); err != nil {
		return "", err
	}
	if b.agents, err = parseAgents(b.spec.Agents); err != nil {
		return "", err
	}
	if b.arch, err = platform(ctx, e); err != nil {
		return "", err
	}
	if b.program, err = openBinary(b.spec.Binary, b.arch); err != nil {
		return "", err
	}
	if b.certificates, err = readCertificates(b.spec.Certificates); err != nil {
		return "", err
	}
	tag := b.spec.tags()[0]
	b.lock, err = lock(ctx, b.spec.Folder, e.Host()+" "+tag, func() {
		progress(Progress{Stage: Wait, Text: "another build of " + tag})
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.lock.release()) }()
	if b.spec.Variant == Scratch {
		return b.scratch(ctx)
	}
	return b.debian(ctx)
}

// platform returns the processor of the engine's Linux.
func platform(ctx context.Context, e *engine.Engine) (string, error) {
	p, err := e.Platform(ctx)
	if err != nil {
		return "", err
	}
	system, arch, _ := strings.Cut(p, "/")
	for _, known := range machines {
		if system == "linux" && arch == known {
			return arch, nil
		}
	}
	return "", &Error{Op: "build image", Err: ErrInvalid, Detail: "the engine is for " + p + ", but images exist only for linux/amd64 and linux/arm64"}
}

// build is a running build.
type build struct {
	engine       *engine.Engine
	spec         Spec
	arch         string
	program      *binary
	agents       []npmAgent
	certificates []byte
	lock         *buildLock
	progress     func(Progress)
}

// scratch builds an image that contains only holdfast.
func (b *build) scratch(ctx context.Context) (string, error) {
	labels := b.labels("")
	if id, err := b.existingImage(ctx, labels); id != "" || err != nil {
		return id, err
	}
	files := append(b.ownFiles(), folder("tmp", 0o1777), folder("var/tmp", 0o1777), folder("run/holdfast", 0o755),
		text("etc/passwd", passwd), text("etc/group", group))
	c := config{Architecture: b.arch, OS: "linux", Created: b.program.made, Config: runConfig{
		User: fmt.Sprintf("%d:%[1]d", UID), Env: b.env(), Entrypoint: []string{Program}, Cmd: []string{"supervise"},
		WorkingDir: Work, Labels: labels,
	}}
	err := b.load(ctx, sorted(files...), c, b.spec.tags())
	return b.finish(ctx, labels, err)
}

// These are the users in the scratch image, for programs that look up their user.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nagent:x:4711:4711:agent:/home/agent:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"
	group  = "root:x:0:\nagent:x:4711:\nnogroup:x:65534:\n"
)

// ownFiles returns the files in every image.
func (b *build) ownFiles() []file {
	home := folder(strings.TrimPrefix(Home, "/"), 0o700)
	home.uid, home.gid = UID, UID
	out := []file{
		hostFile(strings.TrimPrefix(Program, "/"), b.program.path, 0o755, b.program.size), home,
		folder(strings.TrimPrefix(Work, "/"), 0o755), folder(strings.TrimPrefix(supervisor.Folder, "/"), 0o755),
	}
	if len(b.certificates) > 0 {
		out = append(out, text("etc/ssl/certs/ca-certificates.crt", string(b.certificates)))
	}
	return out
}

func (b *build) env() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + Home}
	if b.spec.Variant == Debian {
		env = append(env, "LANG=C.UTF-8")
	}
	for _, t := range b.agents {
		env = append(env, t.env...)
	}
	return env
}

// labels returns the labels that describe the image and its input.
func (b *build) labels(base string) map[string]string {
	out := map[string]string{
		labelImage: b.spec.tags()[0], labelVariant: b.spec.Variant, labelVersion: version.Current().Version,
		labelBinary: b.program.sum, labelProtocol: strconv.Itoa(supervisor.Protocol), labelBase: base,
	}
	var with []string
	for _, t := range b.agents {
		with = append(with, t.name+"@"+t.version)
	}
	out[labelWith] = strings.Join(with, " ")
	input, err := json.Marshal([]any{recipe, out, b.arch, b.env(), b.certificates})
	if err != nil {
		panic(err) // only strings and numbers: cannot fail
	}
	sum := sha256.Sum256(input)
	out[labelInput] = hex.EncodeToString(sum[:])
	return out
}

// existingImage finds an image that was built from the same input, and gives it its names again. It
// returns "" if there is none.
func (b *build) existingImage(ctx context.Context, labels map[string]string) (string, error) {
	if b.spec.NoCache {
		return "", nil
	}
	img, err := b.engine.Image(ctx, labels[labelImage])
	if errors.Is(err, ErrNoImage) || err == nil && img.Labels[labelInput] != labels[labelInput] {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return img.ID, b.nameImage(ctx, img.ID, "is up to date")
}

// nameImage gives the image its other names, and reports that the build has ended.
func (b *build) nameImage(ctx context.Context, id, text string) error {
	tags := b.spec.tags()
	for _, t := range tags[1:] {
		if err := b.engine.Tag(ctx, id, t); err != nil {
			return err
		}
	}
	b.progress(Progress{Stage: Done, Text: strings.Join(tags, ", ") + " " + text})
	return nil
}

// load sends an image of one layer to the engine.
func (b *build) load(ctx context.Context, files layer, c config, tags []string) error {
	total, err := files.length()
	if err != nil {
		return err
	}
	return b.send(ctx, total, func(w io.Writer) error { return archive(w, files, c, tags) },
		func(r io.Reader) error { return b.engine.Load(ctx, r, b.engineMessages) })
}

// engineMessages reports the messages of the engine, but not the ids of intermediate images.
func (b *build) engineMessages(line string) {
	if !strings.HasPrefix(line, " --->") && !strings.HasPrefix(line, "Removing intermediate") {
		b.progress(Progress{Stage: Make, Text: line})
	}
}

// send passes a tar archive from its writer to the engine, and reports the progress.
func (b *build) send(ctx context.Context, total int64, write func(io.Writer) error, read func(io.Reader) error) error {
	out, in := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(in)
		_ = in.CloseWithError(err) // nil is the tar's end
		written <- err
	}()
	meter := &meter{Reader: out, total: total, report: b.progress}
	err := read(meter)
	_ = out.CloseWithError(io.ErrClosedPipe) // stops the writer
	wrote := <-written
	switch {
	case ctx.Err() != nil:
		return &Error{Op: "build image", Name: b.spec.tags()[0], Err: ctx.Err()}
	case wrote != nil && !errors.Is(wrote, io.ErrClosedPipe):
		return &Error{Op: "build image", Name: b.spec.tags()[0], Err: wrote}
	}
	return err
}

// meter reports about once a second how many bytes it has read.
type meter struct {
	io.Reader
	n, total int64
	last     time.Time
	report   func(Progress)
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	m.n += int64(n)
	if now := time.Now(); now.Sub(m.last) > time.Second {
		m.last = now
		m.report(Progress{Stage: Send, Bytes: m.n, Total: max(m.n, m.total)})
	}
	return n, err
}

// finish names the image and removes images without a name.
func (b *build) finish(ctx context.Context, labels map[string]string, err error) (id string, _ error) {
	if err == nil {
		var img engine.Image
		if img, err = b.engine.Image(ctx, labels[labelImage]); err == nil {
			id, err = img.ID, b.nameImage(ctx, img.ID, "built")
		}
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return id, errors.Join(err, b.engine.PruneImages(limited, map[string]string{labelImage: labels[labelImage]}))
}

// writeContext writes the build context: a Dockerfile and the files it copies.
func (b *build) writeContext(w io.Writer, base string, labels map[string]string) error {
	t := tar.NewWriter(w)
	put := func(below string, files layer) error {
		for i := range files {
			if err := files[i].write(t, below, true); err != nil {
				return err
			}
		}
		return nil
	}
	var doc strings.Builder
	fmt.Fprintf(&doc, "FROM %s\nLABEL %s=%q\n", base, labelImage, labels[labelImage])
	if len(b.agents) > 0 {
		doc.WriteString("COPY tools/ /\n")
		if err := b.writeAgents(t, "tools"); err != nil {
			return err
		}
	}
	doc.WriteString("COPY program/ /\n")
	doc.WriteString("ENV")
	for _, pair := range b.env() {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&doc, " %s=%q", name, value)
	}
	fmt.Fprintf(&doc, "\nWORKDIR %s\nENTRYPOINT [%q]\nCMD [\"supervise\"]\nUSER %d:%[3]d\nLABEL", Work, Program, UID)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&doc, " %s=%q", name, labels[name])
	}
	doc.WriteString("\n")
	if err := put("program", sorted(b.ownFiles()...)); err != nil {
		return err
	}
	if err := put("", layer{text("Dockerfile", doc.String())}); err != nil {
		return err
	}
	return t.Close()
}
