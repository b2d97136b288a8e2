# The binary on nothing: docker build -t holdfast .
# A release brings its binaries along: --build-arg BINARY=prebuilt.
ARG BINARY=build

FROM golang:1.26 AS base
RUN install -d -m 0700 -o 65532 -g 65532 /out/data && install -d -m 1777 /out/tmp

FROM base AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /holdfast ./cmd/holdfast

FROM scratch AS prebuilt
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/holdfast /holdfast

FROM ${BINARY} AS binary

FROM scratch
COPY --from=base /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=base /out /
COPY --from=binary /holdfast /usr/bin/holdfast
ENV HOLDFAST_HOME=/data PATH=/usr/bin
USER 65532:65532
VOLUME /data
ENTRYPOINT ["/usr/bin/holdfast"]
