// Read the data of the page and start its parts.

async function startPlayers(data) {
  const tabs = document.getElementById("worlds");
  const players = [];
  for (const one of data.players ?? []) {
    const host = document.getElementById(`player-${one.id}`);
    const player = new Player(host, one, data);
    players.push(player);
    host.player = player;
  }
  const show = async (number) => {
    for (const [i, player] of players.entries()) {
      player.host.hidden = i !== number;
      if (i !== number && player.playing) player.pause();
    }
    if (!players[number].host.dataset.ready) await players[number].start();
    else players[number].show();
    players[number].host.dataset.ready = "true";
  };
  tabs?.addEventListener("change", (event) => show(Number(event.target.value)));
  if (players.length) await show(0);
  return players;
}

async function begin() {
  startTheme();
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const players = await startPlayers(data);
  for (const [i, one] of (data.reach ?? []).entries()) startReach(document.getElementById(`reach-${i}`), one);
  if (data.runs) await startRuns(data.runs, players);
  document.documentElement.dataset.ready = "true";
}

begin().catch((error) => {
  document.getElementById("failed")?.removeAttribute("hidden");
  throw error;
});
