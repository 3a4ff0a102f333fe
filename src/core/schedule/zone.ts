// The accepted time zone names, exactly as spelled: the names of tz database release 2026f without Factory.

/** Every accepted name, current and old ones alike, in alphabetical order. */
export const ZONE_NAMES: readonly string[] = `
Africa/Abidjan Africa/Accra Africa/Addis_Ababa Africa/Algiers Africa/Asmara Africa/Asmera Africa/Bamako
Africa/Bangui Africa/Banjul Africa/Bissau Africa/Blantyre Africa/Brazzaville Africa/Bujumbura Africa/Cairo
Africa/Casablanca Africa/Ceuta Africa/Conakry Africa/Dakar Africa/Dar_es_Salaam Africa/Djibouti
Africa/Douala Africa/El_Aaiun Africa/Freetown Africa/Gaborone Africa/Harare Africa/Johannesburg Africa/Juba
Africa/Kampala Africa/Khartoum Africa/Kigali Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Lome
Africa/Luanda Africa/Lubumbashi Africa/Lusaka Africa/Malabo Africa/Maputo Africa/Maseru Africa/Mbabane
Africa/Mogadishu Africa/Monrovia Africa/Nairobi Africa/Ndjamena Africa/Niamey Africa/Nouakchott
Africa/Ouagadougou Africa/Porto-Novo Africa/Sao_Tome Africa/Timbuktu Africa/Tripoli Africa/Tunis
Africa/Windhoek America/Adak America/Anchorage America/Anguilla America/Antigua America/Araguaina
America/Argentina/Buenos_Aires America/Argentina/Catamarca America/Argentina/ComodRivadavia
America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/La_Rioja America/Argentina/Mendoza
America/Argentina/Rio_Gallegos America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis
America/Argentina/Tucuman America/Argentina/Ushuaia America/Aruba America/Asuncion America/Atikokan
America/Atka America/Bahia America/Bahia_Banderas America/Barbados America/Belem America/Belize
America/Blanc-Sablon America/Boa_Vista America/Bogota America/Boise America/Buenos_Aires
America/Cambridge_Bay America/Campo_Grande America/Cancun America/Caracas America/Catamarca America/Cayenne
America/Cayman America/Chicago America/Chihuahua America/Ciudad_Juarez America/Coral_Harbour America/Cordoba
America/Costa_Rica America/Coyhaique America/Creston America/Cuiaba America/Curacao America/Danmarkshavn
America/Dawson America/Dawson_Creek America/Denver America/Detroit America/Dominica America/Edmonton
America/Eirunepe America/El_Salvador America/Ensenada America/Fort_Nelson America/Fort_Wayne
America/Fortaleza America/Glace_Bay America/Godthab America/Goose_Bay America/Grand_Turk America/Grenada
America/Guadeloupe America/Guatemala America/Guayaquil America/Guyana America/Halifax America/Havana
America/Hermosillo America/Indiana/Indianapolis America/Indiana/Knox America/Indiana/Marengo
America/Indiana/Petersburg America/Indiana/Tell_City America/Indiana/Vevay America/Indiana/Vincennes
America/Indiana/Winamac America/Indianapolis America/Inuvik America/Iqaluit America/Jamaica America/Jujuy
America/Juneau America/Kentucky/Louisville America/Kentucky/Monticello America/Knox_IN America/Kralendijk
America/La_Paz America/Lima America/Los_Angeles America/Louisville America/Lower_Princes America/Maceio
America/Managua America/Manaus America/Marigot America/Martinique America/Matamoros America/Mazatlan
America/Mendoza America/Menominee America/Merida America/Metlakatla America/Mexico_City America/Miquelon
America/Moncton America/Monterrey America/Montevideo America/Montreal America/Montserrat America/Nassau
America/New_York America/Nipigon America/Nome America/Noronha America/North_Dakota/Beulah
America/North_Dakota/Center America/North_Dakota/New_Salem America/Nuuk America/Ojinaga America/Panama
America/Pangnirtung America/Paramaribo America/Phoenix America/Port-au-Prince America/Port_of_Spain
America/Porto_Acre America/Porto_Velho America/Puerto_Rico America/Punta_Arenas America/Rainy_River
America/Rankin_Inlet America/Recife America/Regina America/Resolute America/Rio_Branco America/Rosario
America/Santa_Isabel America/Santarem America/Santiago America/Santo_Domingo America/Sao_Paulo
America/Scoresbysund America/Shiprock America/Sitka America/St_Barthelemy America/St_Johns America/St_Kitts
America/St_Lucia America/St_Thomas America/St_Vincent America/Swift_Current America/Tegucigalpa
America/Thule America/Thunder_Bay America/Tijuana America/Toronto America/Tortola America/Vancouver
America/Virgin America/Whitehorse America/Winnipeg America/Yakutat America/Yellowknife Antarctica/Casey
Antarctica/Davis Antarctica/DumontDUrville Antarctica/Macquarie Antarctica/Mawson Antarctica/McMurdo
Antarctica/Palmer Antarctica/Rothera Antarctica/South_Pole Antarctica/Syowa Antarctica/Troll
Antarctica/Vostok Arctic/Longyearbyen Asia/Aden Asia/Almaty Asia/Amman Asia/Anadyr Asia/Aqtau Asia/Aqtobe
Asia/Ashgabat Asia/Ashkhabad Asia/Atyrau Asia/Baghdad Asia/Bahrain Asia/Baku Asia/Bangkok Asia/Barnaul
Asia/Beirut Asia/Bishkek Asia/Brunei Asia/Calcutta Asia/Chita Asia/Choibalsan Asia/Chongqing Asia/Chungking
Asia/Colombo Asia/Dacca Asia/Damascus Asia/Dhaka Asia/Dili Asia/Dubai Asia/Dushanbe Asia/Famagusta Asia/Gaza
Asia/Harbin Asia/Hebron Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Hovd Asia/Irkutsk Asia/Istanbul Asia/Jakarta
Asia/Jayapura Asia/Jerusalem Asia/Kabul Asia/Kamchatka Asia/Karachi Asia/Kashgar Asia/Kathmandu
Asia/Katmandu Asia/Khandyga Asia/Kolkata Asia/Krasnoyarsk Asia/Kuala_Lumpur Asia/Kuching Asia/Kuwait
Asia/Macao Asia/Macau Asia/Magadan Asia/Makassar Asia/Manila Asia/Muscat Asia/Nicosia Asia/Novokuznetsk
Asia/Novosibirsk Asia/Omsk Asia/Oral Asia/Phnom_Penh Asia/Pontianak Asia/Pyongyang Asia/Qatar Asia/Qostanay
Asia/Qyzylorda Asia/Rangoon Asia/Riyadh Asia/Saigon Asia/Sakhalin Asia/Samarkand Asia/Seoul Asia/Shanghai
Asia/Singapore Asia/Srednekolymsk Asia/Taipei Asia/Tashkent Asia/Tbilisi Asia/Tehran Asia/Tel_Aviv
Asia/Thimbu Asia/Thimphu Asia/Tokyo Asia/Tomsk Asia/Ujung_Pandang Asia/Ulaanbaatar Asia/Ulan_Bator
Asia/Urumqi Asia/Ust-Nera Asia/Vientiane Asia/Vladivostok Asia/Yakutsk Asia/Yangon Asia/Yekaterinburg
Asia/Yerevan Atlantic/Azores Atlantic/Bermuda Atlantic/Canary Atlantic/Cape_Verde Atlantic/Faeroe
Atlantic/Faroe Atlantic/Jan_Mayen Atlantic/Madeira Atlantic/Reykjavik Atlantic/South_Georgia
Atlantic/St_Helena Atlantic/Stanley Australia/ACT Australia/Adelaide Australia/Brisbane
Australia/Broken_Hill Australia/Canberra Australia/Currie Australia/Darwin Australia/Eucla Australia/Hobart
Australia/LHI Australia/Lindeman Australia/Lord_Howe Australia/Melbourne Australia/NSW Australia/North
Australia/Perth Australia/Queensland Australia/South Australia/Sydney Australia/Tasmania Australia/Victoria
Australia/West Australia/Yancowinna Brazil/Acre Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT
Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain Canada/Newfoundland Canada/Pacific
Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland Cuba EET EST EST5EDT Egypt Eire
Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4 Etc/GMT+5
Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13
Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0
Etc/Greenwich Etc/UCT Etc/UTC Etc/Universal Etc/Zulu Europe/Amsterdam Europe/Andorra Europe/Astrakhan
Europe/Athens Europe/Belfast Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels
Europe/Bucharest Europe/Budapest Europe/Busingen Europe/Chisinau Europe/Copenhagen Europe/Dublin
Europe/Gibraltar Europe/Guernsey Europe/Helsinki Europe/Isle_of_Man Europe/Istanbul Europe/Jersey
Europe/Kaliningrad Europe/Kiev Europe/Kirov Europe/Kyiv Europe/Lisbon Europe/Ljubljana Europe/London
Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Mariehamn Europe/Minsk Europe/Monaco Europe/Moscow
Europe/Nicosia Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague Europe/Riga Europe/Rome Europe/Samara
Europe/San_Marino Europe/Sarajevo Europe/Saratov Europe/Simferopol Europe/Skopje Europe/Sofia
Europe/Stockholm Europe/Tallinn Europe/Tirane Europe/Tiraspol Europe/Ulyanovsk Europe/Uzhgorod Europe/Vaduz
Europe/Vatican Europe/Vienna Europe/Vilnius Europe/Volgograd Europe/Warsaw Europe/Zagreb Europe/Zaporozhye
Europe/Zurich GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Indian/Antananarivo
Indian/Chagos Indian/Christmas Indian/Cocos Indian/Comoro Indian/Kerguelen Indian/Mahe Indian/Maldives
Indian/Mauritius Indian/Mayotte Indian/Reunion Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT
Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Apia Pacific/Auckland
Pacific/Bougainville Pacific/Chatham Pacific/Chuuk Pacific/Easter Pacific/Efate Pacific/Enderbury
Pacific/Fakaofo Pacific/Fiji Pacific/Funafuti Pacific/Galapagos Pacific/Gambier Pacific/Guadalcanal
Pacific/Guam Pacific/Honolulu Pacific/Johnston Pacific/Kanton Pacific/Kiritimati Pacific/Kosrae
Pacific/Kwajalein Pacific/Majuro Pacific/Marquesas Pacific/Midway Pacific/Nauru Pacific/Niue Pacific/Norfolk
Pacific/Noumea Pacific/Pago_Pago Pacific/Palau Pacific/Pitcairn Pacific/Pohnpei Pacific/Ponape
Pacific/Port_Moresby Pacific/Rarotonga Pacific/Saipan Pacific/Samoa Pacific/Tahiti Pacific/Tarawa
Pacific/Tongatapu Pacific/Truk Pacific/Wake Pacific/Wallis Pacific/Yap Poland Portugal ROC ROK Singapore
Turkey UCT US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii
US/Indiana-Starke US/Michigan US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`
  .trim()
  .split(/\s+/);

/** Names that the tz database keeps for old programs, each with the current name of its place. */
export const CURRENT_ZONE_NAMES: ReadonlyMap<string, string> = new Map(
  `
Africa/Asmera=Africa/Asmara Africa/Timbuktu=Africa/Bamako
America/Argentina/ComodRivadavia=America/Argentina/Catamarca America/Atka=America/Adak
America/Buenos_Aires=America/Argentina/Buenos_Aires America/Catamarca=America/Argentina/Catamarca
America/Coral_Harbour=America/Atikokan America/Cordoba=America/Argentina/Cordoba
America/Ensenada=America/Tijuana America/Fort_Wayne=America/Indiana/Indianapolis
America/Godthab=America/Nuuk America/Indianapolis=America/Indiana/Indianapolis
America/Jujuy=America/Argentina/Jujuy America/Knox_IN=America/Indiana/Knox
America/Louisville=America/Kentucky/Louisville America/Mendoza=America/Argentina/Mendoza
America/Montreal=America/Toronto America/Nipigon=America/Toronto America/Pangnirtung=America/Iqaluit
America/Porto_Acre=America/Rio_Branco America/Rainy_River=America/Winnipeg
America/Rosario=America/Argentina/Cordoba America/Santa_Isabel=America/Tijuana
America/Shiprock=America/Denver America/Thunder_Bay=America/Toronto America/Virgin=America/St_Thomas
America/Yellowknife=America/Edmonton Antarctica/South_Pole=Antarctica/McMurdo Asia/Ashkhabad=Asia/Ashgabat
Asia/Calcutta=Asia/Kolkata Asia/Choibalsan=Asia/Ulaanbaatar Asia/Chongqing=Asia/Shanghai
Asia/Chungking=Asia/Shanghai Asia/Dacca=Asia/Dhaka Asia/Harbin=Asia/Shanghai Asia/Istanbul=Europe/Istanbul
Asia/Kashgar=Asia/Urumqi Asia/Katmandu=Asia/Kathmandu Asia/Macao=Asia/Macau Asia/Rangoon=Asia/Yangon
Asia/Saigon=Asia/Ho_Chi_Minh Asia/Tel_Aviv=Asia/Jerusalem Asia/Thimbu=Asia/Thimphu
Asia/Ujung_Pandang=Asia/Makassar Asia/Ulan_Bator=Asia/Ulaanbaatar Atlantic/Faeroe=Atlantic/Faroe
Atlantic/Jan_Mayen=Arctic/Longyearbyen Australia/ACT=Australia/Sydney Australia/Canberra=Australia/Sydney
Australia/Currie=Australia/Hobart Australia/LHI=Australia/Lord_Howe Australia/NSW=Australia/Sydney
Australia/North=Australia/Darwin Australia/Queensland=Australia/Brisbane Australia/South=Australia/Adelaide
Australia/Tasmania=Australia/Hobart Australia/Victoria=Australia/Melbourne Australia/West=Australia/Perth
Australia/Yancowinna=Australia/Broken_Hill Brazil/Acre=America/Rio_Branco Brazil/DeNoronha=America/Noronha
Brazil/East=America/Sao_Paulo Brazil/West=America/Manaus Canada/Atlantic=America/Halifax
Canada/Central=America/Winnipeg Canada/Eastern=America/Toronto Canada/Mountain=America/Edmonton
Canada/Newfoundland=America/St_Johns Canada/Pacific=America/Vancouver Canada/Saskatchewan=America/Regina
Canada/Yukon=America/Whitehorse Chile/Continental=America/Santiago Chile/EasterIsland=Pacific/Easter
Cuba=America/Havana Egypt=Africa/Cairo Eire=Europe/Dublin Etc/UCT=UTC Etc/UTC=UTC Etc/Universal=UTC
Etc/Zulu=UTC Europe/Belfast=Europe/London Europe/Kiev=Europe/Kyiv Europe/Nicosia=Asia/Nicosia
Europe/Tiraspol=Europe/Chisinau Europe/Uzhgorod=Europe/Kyiv Europe/Zaporozhye=Europe/Kyiv GB=Europe/London
GB-Eire=Europe/London Hongkong=Asia/Hong_Kong Iceland=Atlantic/Reykjavik Iran=Asia/Tehran
Israel=Asia/Jerusalem Jamaica=America/Jamaica Japan=Asia/Tokyo Kwajalein=Pacific/Kwajalein
Libya=Africa/Tripoli Mexico/BajaNorte=America/Tijuana Mexico/BajaSur=America/Mazatlan
Mexico/General=America/Mexico_City NZ=Pacific/Auckland NZ-CHAT=Pacific/Chatham Navajo=America/Denver
PRC=Asia/Shanghai Pacific/Enderbury=Pacific/Kanton Pacific/Johnston=Pacific/Honolulu
Pacific/Ponape=Pacific/Pohnpei Pacific/Samoa=Pacific/Pago_Pago Pacific/Truk=Pacific/Chuuk
Pacific/Yap=Pacific/Chuuk Poland=Europe/Warsaw Portugal=Europe/Lisbon ROC=Asia/Taipei ROK=Asia/Seoul
Singapore=Asia/Singapore Turkey=Europe/Istanbul UCT=UTC US/Alaska=America/Anchorage
US/Aleutian=America/Adak US/Arizona=America/Phoenix US/Central=America/Chicago
US/East-Indiana=America/Indiana/Indianapolis US/Eastern=America/New_York US/Hawaii=Pacific/Honolulu
US/Indiana-Starke=America/Indiana/Knox US/Michigan=America/Detroit US/Mountain=America/Denver
US/Pacific=America/Los_Angeles US/Samoa=Pacific/Pago_Pago Universal=UTC W-SU=Europe/Moscow Zulu=UTC
`
    .trim()
    .split(/\s+/)
    .map((pair) => pair.split("=") as [string, string]),
);

/** Names of fixed offsets and of rules without a place: accepted, and not offered. */
const WITHOUT_PLACE: ReadonlySet<string> = new Set(
  `
CET CST6CDT EET EST EST5EDT Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2
Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10
Etc/GMT-11 Etc/GMT-12 Etc/GMT-13 Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7
Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich GMT GMT+0 GMT-0 GMT0 Greenwich HST MET MST MST7MDT PST8PDT WET
`
    .trim()
    .split(/\s+/),
);

/** The names offered for selection: current ones of places, and UTC. */
export const OFFERED_ZONE_NAMES: readonly string[] = ZONE_NAMES.filter(
  (name) => !CURRENT_ZONE_NAMES.has(name) && !WITHOUT_PLACE.has(name),
);

// Time zones as intervals of constant offset, read from the runtime's zone data and cached. Names are checked
// against the fixed list above, not by what Intl accepts.

/** From `from` (seconds, included) to `to` (excluded) clocks show UTC plus `offset` seconds. */
export type Stretch = { from: number; to: number; offset: number };

export type Zone = {
  name: string;
  index: number;
  /** Set when the offset never changes. */
  fixed: Stretch | null;
};

/** A part of a zone's timeline; `second` begins with the clock change, if it contains one. */
type Slot = { first: Stretch; second: Stretch | null };

/**
 * Length of a slot: six days and an hour or so. Since 1970 no zone has changed its clock twice in less than
 * six days and 23 hours, so that a slot holds one change at most, and equal offsets at both ends mean none.
 */
const SLOT_SECONDS = 2 ** 19;
/** Room for the slots of one zone among the keys; covers 1969 to 2251 with some to spare. */
const SLOTS_PER_ZONE = 2 ** 15;
const FIRST_SLOT = -1_000;

/** About 10 MB when full: a year of every zone. The oldest entry makes room. */
const MAX_SLOTS = 32_768;
/** Formatters are heavy and needed only for a slot that is not known yet. */
const MAX_FORMATTERS = 64;

/** Clock changes fall on quarters of an hour, but for a few that are searched to the second. */
const USUAL_GRID_SECONDS = 900;

/** No clock is further ahead of or behind UTC than this. */
const MAX_OFFSET_SECONDS = 15 * 3_600;

const FIXED_NAME = /^(?:Etc\/.+|GMT.*|UTC|UCT|Greenwich|Universal|Zulu)$/;
const ZERO_NAME = /^(?:Etc\/)?(?:UTC|UCT|GMT[+-]?0?|Greenwich|Universal|Zulu)$/;
const OFFSET_TEXT = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?/;

const zoneIndex = new Map(ZONE_NAMES.map((name, index) => [name, index]));
const zones = new Map<string, Zone>();
const slots = new Map<number, Slot>();
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether the name is on the list; case-sensitive. */
export function isZone(name: string): boolean {
  return zoneIndex.has(name);
}

/** The zone of that name, or null when the name is not on the list. */
export function zoneOf(name: string): Zone | null {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const index = zoneIndex.get(name);
  if (index === undefined) return null;
  const zone: Zone = { name, index, fixed: FIXED_NAME.test(name) ? fixedStretch(name) : null };
  zones.set(name, zone);
  return zone;
}

/** The interval that contains the instant (in seconds); it may end before the offset really changes. */
export function stretchAt(zone: Zone, second: number): Stretch {
  if (zone.fixed !== null) return zone.fixed;
  const number = Math.floor(second / SLOT_SECONDS);
  const key = zone.index * SLOTS_PER_ZONE + number - FIRST_SLOT;
  const slot = slots.get(key) ?? remember(key, findSlot(zone, number));
  return slot.second !== null && second >= slot.second.from ? slot.second : slot.first;
}

/** The first instant after `after` at which the zone's clocks show the reading; null when none does. */
export function instantOf(zone: Zone, { reading, after }: { reading: number; after: number }): number | null {
  let stretch = stretchAt(zone, reading - MAX_OFFSET_SECONDS);
  for (;;) {
    const second = reading - stretch.offset;
    if (second >= stretch.from && second < stretch.to && second > after) return second;
    if (stretch.to > reading + MAX_OFFSET_SECONDS) return null;
    stretch = stretchAt(zone, stretch.to);
  }
}

/** The interval whose beginning skipped the reading, or null if no clock change did. */
export function stretchAfterGap(zone: Zone, reading: number): Stretch | null {
  let before = stretchAt(zone, reading - MAX_OFFSET_SECONDS);
  while (before.to <= reading + MAX_OFFSET_SECONDS) {
    const after = stretchAt(zone, before.to);
    if (before.to + before.offset <= reading && reading < after.from + after.offset) return after;
    before = after;
  }
  return null;
}

/** At `at` (seconds) clocks go from `before` seconds ahead of UTC to `after`. */
export type ClockChange = { at: number; before: number; after: number };

/** The clock changes of a zone after `from` and before `to` (seconds), in order. */
export function clockChanges(zone: Zone, { from, to }: { from: number; to: number }): ClockChange[] {
  const changes: ClockChange[] = [];
  let before = stretchAt(zone, from);
  while (before.to < to) {
    const after = stretchAt(zone, before.to);
    if (after.offset !== before.offset) {
      changes.push({ at: before.to, before: before.offset, after: after.offset });
    }
    before = after;
  }
  return changes;
}

function remember(key: number, slot: Slot): Slot {
  if (slots.size >= MAX_SLOTS) dropOldest(slots);
  slots.set(key, slot);
  return slot;
}

function dropOldest<Key>(cache: Map<Key, unknown>): void {
  for (const key of cache.keys()) {
    cache.delete(key);
    return;
  }
}

function fixedStretch(name: string): Stretch {
  const offset = ZERO_NAME.test(name) ? 0 : offsetAt(formatterOf(name), 0);
  return { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, offset };
}

function findSlot(zone: Zone, number: number): Slot {
  const from = number * SLOT_SECONDS;
  const to = from + SLOT_SECONDS;
  const formatter = formatterOf(zone.name);
  const offset = offsetAt(formatter, from);
  const offsetAfter = offsetAt(formatter, to - 1);
  if (offset === offsetAfter) return { first: { from, to, offset }, second: null };
  const change = findChange(formatter, { low: from, high: to - 1, offset });
  return { first: { from, to: change, offset }, second: { from: change, to, offset: offsetAfter } };
}

/** The first second after `low` whose offset is not `offset`, which is the one at `low` but not at `high`. */
function findChange(
  formatter: Intl.DateTimeFormat,
  bounds: { low: number; high: number; offset: number },
): number {
  let { low, high } = bounds;
  while (high - low > 1) {
    const half = Math.floor((low + high) / 2);
    let probe = Math.floor(half / USUAL_GRID_SECONDS) * USUAL_GRID_SECONDS;
    // One grid step is left: most changes lie exactly at its end, which the second before it confirms.
    if (probe <= low) probe = high % USUAL_GRID_SECONDS === 0 ? high - 1 : half;
    if (offsetAt(formatter, probe) === bounds.offset) low = probe;
    else high = probe;
  }
  return high;
}

function formatterOf(name: string): Intl.DateTimeFormat {
  const known = formatters.get(name);
  if (known !== undefined) return known;
  if (formatters.size >= MAX_FORMATTERS) dropOldest(formatters);
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    day: "numeric",
    timeZoneName: "longOffset",
  });
  formatters.set(name, made);
  return made;
}

/** Seconds that clocks are ahead of UTC; the formatter's text ends like `GMT-03:30`. */
function offsetAt(formatter: Intl.DateTimeFormat, second: number): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] =
    OFFSET_TEXT.exec(formatter.format(second * 1_000)) ?? [];
  const size = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -size : size;
}
