package inputimage_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/transcript"
)

func encoded(t *testing.T, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t *testing.T, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, image.NewGray(image.Rect(0, 0, width, height))) })
}

// webp returns the head of a WebP file with a chunk.
func webp(chunk string, body ...byte) []byte {
	return append([]byte("RIFF\x30\x00\x00\x00WEBP"+chunk+"\x00\x00\x00\x00"), append(body, make([]byte, 16)...)...)
}

func TestCheck(t *testing.T) {
	jpegFile := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, image.NewGray(image.Rect(0, 0, 20, 10)), nil) })
	gifFile := encoded(t, func(b *bytes.Buffer) error {
		return gif.Encode(b, image.NewPaletted(image.Rect(0, 0, 20, 10), palette.Plan9), nil)
	})
	large := make([]byte, 4)
	binary.LittleEndian.PutUint32(large, 8000|9<<14)
	for _, tt := range []struct {
		name       string
		data       []byte
		mime, want string
	}{
		{"png", pngOf(t, 20, 10), "image/png", ""},
		{"jpeg", jpegFile, "image/jpeg", ""},
		{"jpeg with padding", append([]byte{0xff, 0xd8, 0xff, 0xff}, jpegFile[3:]...), "image/jpeg", ""},
		{"gif", gifFile, "image/gif", ""},
		{"webp", webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 20, 0, 10, 0), "image/webp", ""},
		{"webp, lossless", webp("VP8L", 0x2f, 19, 0x40, 2, 0), "image/webp", ""},
		{"webp, extended", webp("VP8X", 0, 0, 0, 0, 19, 0, 0, 9, 0, 0), "image/webp", ""},
		{"webp, extended and wide", webp("VP8X", 0, 0, 0, 0, 0, 0, 1, 9, 0, 0), "", "65537 × 10 pixels"},
		{"webp, lossless and wide", webp("VP8L", append([]byte{0x2f}, large...)...), "", "8001 × 10 pixels"},
		{"empty", nil, "", "not an image that models accept"},
		{"text", []byte("hello"), "", "not an image that models accept"},
		{"svg", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), "", "not an image that models accept"},
		{"only a head", pngOf(t, 20, 10)[:12], "", "damaged"},
		{"jpeg without a size", []byte("\xff\xd8\xff\xe0\x00\x04aa"), "", "damaged"},
		{"wide", pngOf(t, 8001, 1), "", "8001 × 1 pixels, and at most 8000 × 8000 are allowed"},
		{"large", append(pngOf(t, 1, 1), make([]byte, inputimage.MaxBytes)...), "", "3.76 MiB, and at most 3.75 MiB are allowed"},
	} {
		mime, err := inputimage.Check(tt.data)
		bad, is := errors.AsType[*inputimage.Error](err)
		if mime != tt.mime || is != (tt.want != "") || is && (!strings.Contains(err.Error(), tt.want) || bad.Hint() == "") {
			t.Errorf("%s: %q %v", tt.name, mime, err)
		}
	}
}

func TestInput(t *testing.T) {
	data := pngOf(t, 2, 2)
	parts := inputimage.Input("see", []transcript.Media{{Name: "dir/a[1].png", Data: data}})
	m, _ := parts[1].(transcript.Media)
	if len(parts) != 2 || m.MIME != "image/png" || m.Name != "a_1_.png" {
		t.Errorf("%+v", parts)
	}
	text, images, err := inputimage.FromInput(parts)
	if err != nil || text != "see" || len(images) != 1 || !bytes.Equal(images[0].Data, data) {
		t.Errorf("%q %+v %v", text, images, err)
	}
	if parts := inputimage.Input("", nil); len(parts) != 0 {
		t.Errorf("%+v", parts)
	}
	big := transcript.Media{Data: append(slices.Clip(data), make([]byte, 3<<20)...)}
	for want, parts := range map[string][]transcript.Part{
		"only text and images":     {transcript.Structured{}},
		"image 1: it is not":       {transcript.Media{MIME: "image/png", URI: "https://example.org/a.png"}},
		"image/png, not image/gif": {transcript.Media{MIME: "image/gif", Data: data}},
		"21 images":                slices.Repeat([]transcript.Part{transcript.Media{Data: data}}, 21),
		"the images have":          {big, big},
	} {
		if _, _, err := inputimage.FromInput(parts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestLabel(t *testing.T) {
	text := "see " + inputimage.Label(12, "a b.png", 12_000) + " and " + inputimage.Label(3, "", 2<<20) + ", not [Image #x y]"
	if text != "see [Image #12 a b.png 12 KiB] and [Image #3 2 MiB], not [Image #x y]" {
		t.Error(text)
	}
	list, numbers := inputimage.Labels(text)
	if !slices.Equal(list, []string{"[Image #12 a b.png 12 KiB]", "[Image #3 2 MiB]"}) || !slices.Equal(numbers, []int{12, 3}) {
		t.Errorf("%q %v", list, numbers)
	}
	if got := inputimage.Label(0, "a.png", 1); got != "[Image a.png 1 KiB]" {
		t.Error(got)
	}
	if got := inputimage.Name(`C:\dir\` + strings.Repeat("x", 80) + ".png"); len([]rune(got)) != 61 || !strings.HasSuffix(got, ".png") {
		t.Error(got)
	}
}
