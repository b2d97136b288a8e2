# The program on nothing, from source. The compiler runs on the machine that builds,
# whatever the image is for:
#
#   docker build -t holdfast --build-arg REVISION=$(git rev-parse --short=12 HEAD) .
#   docker buildx build --platform linux/amd64,linux/arm64 -t example/holdfast .
#
# A release has an image that was made without this file and without an engine:
# packaging/release/image.go.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION REVISION
RUN install -d -m 0700 /out/data && install -d -m 1777 /out/tmp && install -d /out/etc/ssl/certs /out/usr/bin && \
    cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ && \
    V=github.com/holdfast-dev/holdfast/internal/version && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X $V.release=$VERSION -X $V.revision=$REVISION" -o /out/usr/bin/holdfast ./cmd/holdfast && \
    chown 65532:65532 /out/data

FROM scratch
ARG VERSION REVISION
LABEL org.opencontainers.image.title=holdfast \
      org.opencontainers.image.source=https://github.com/holdfast-dev/holdfast \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
COPY --from=build /out /
ENV HOLDFAST_HOME=/data PATH=/usr/bin
USER 65532:65532
VOLUME /data
ENTRYPOINT ["/usr/bin/holdfast"]
