# Pestle's broker, and every other command, in an image of one file.
#
# Offline, or quicker: build the program first, and make the image of it.
#   CGO_ENABLED=0 GOOS=linux go build -o bin/pestle-linux-amd64 ./cmd/pestle
#   docker build --target prebuilt -t pestle:dev .
#
# Without Go on this machine: it is built in a container.
#   docker build --target source -t pestle:dev .
#
# The prebuilt stage comes first because builders without BuildKit run every
# stage before the one that is asked for.

FROM scratch AS prebuilt
ARG TARGETARCH=amd64
COPY --chown=65532:65532 compose/image/data/ /data/
COPY compose/image/opt/ /opt/
COPY bin/pestle-linux-${TARGETARCH} /pestle
USER 65532:65532
VOLUME /data
EXPOSE 4150 4151 4160
ENTRYPOINT ["/pestle"]
CMD ["broker", "--data-path=/data"]

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /pestle ./cmd/pestle

FROM scratch AS source
COPY --chown=65532:65532 compose/image/data/ /data/
COPY compose/image/opt/ /opt/
COPY --from=build /pestle /pestle
USER 65532:65532
VOLUME /data
EXPOSE 4150 4151 4160
ENTRYPOINT ["/pestle"]
CMD ["broker", "--data-path=/data"]
